"""Brings whoever waits for a provider batch to look at it now, by the name that the provider has for it.

It is found by a search attribute that its workflow carries from run to run, so by an index and not by reading a list.
"""

from temporalio.client import Client as Temporal

from surefoot.errors import JobEnded, NoSuchJob
from surefoot.rpc import reaching
from surefoot.texts import can_be_asked_for
from workflows.lanes.contracts import PROVIDER_BATCH
from workflows.showing import BATCH

MOST = 10
"""Accounts of several providers may have batches of one name; of no more of them."""


async def look_now(temporal: Temporal, batch: str) -> int:
    """Have this batch of a provider looked at; by how many that wait for it: one, or none that is known of yet."""
    if not can_be_asked_for(batch):
        return 0
    query = f"WorkflowType = '{PROVIDER_BATCH}' AND ExecutionStatus = 'Running' AND {BATCH.name} = '{batch}'"
    with reaching(batch):
        waiting = [run.id async for run in temporal.list_workflows(query, limit=MOST)]
    return sum([await _told(temporal, id) for id in waiting])


async def _told(temporal: Temporal, id: str) -> bool:
    """Whether it was still waiting: lists are late."""
    try:
        with reaching(id):
            await temporal.get_workflow_handle(id).signal("look")
    except (NoSuchJob, JobEnded):
        return False
    return True
