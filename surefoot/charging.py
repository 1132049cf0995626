"""Has jobs of tenants write down what they spent, so that the budgets of tenants count jobs outside batches too.

A job that writes to a search attribute unknown to the server never ends: its last task fails for ever. So each server
is asked first whether it knows them, once in the life of a client.
"""

from weakref import WeakKeyDictionary

from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from workflows.contracts import JobStart
from workflows.showing import COST, SAVED, TOKENS, UNMEASURED

_KNOWN = WeakKeyDictionary[Temporal, bool]()


async def charged(temporal: Temporal, start: JobStart) -> JobStart:
    """The same start, `charged` if the job works for a tenant and the server has a place for what it will spend."""
    tenant = (start.carry or start).tenant
    if tenant is None or not await _knows(temporal):
        return start
    return start.model_copy(update={"charged": True})


async def _knows(temporal: Temporal) -> bool:
    """By a search for no job at all: whoever may start jobs may search, and unknown attributes are refused."""
    if temporal not in _KNOWN:
        each = " AND ".join(f"{key.name} IS NULL" for key in (COST, TOKENS, UNMEASURED, SAVED))
        try:
            await temporal.count_workflows(f"WorkflowId = 'none' AND {each}")
        except RPCError as error:
            if error.status not in (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.PERMISSION_DENIED):
                raise
            _KNOWN[temporal] = False
        else:
            _KNOWN[temporal] = True
    return _KNOWN[temporal]
