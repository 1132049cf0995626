"""The list of batches, from what the server itself keeps of them: no worker need be up."""

import asyncio

from temporalio.client import Client as Temporal

from surefoot.batches.batch import Batch, BatchView
from surefoot.rpc import reaching
from workflows import labels

AT_ONCE = 10


async def list_batches(temporal: Temporal, *, limit: int) -> list[BatchView]:
    """How the newest batches stand."""
    seen: list[str] = []
    places = asyncio.Semaphore(AT_ONCE)

    async def view(id: str) -> BatchView:
        async with places:
            return await Batch(temporal, id).view()

    with reaching("?"):
        async for run in temporal.list_workflows(f"WorkflowType = '{labels.BATCH_WORKFLOW}'"):
            if run.id not in seen:  # one that was tried again has several runs
                seen.append(run.id)
            if len(seen) == limit:
                break
    return list(await asyncio.gather(*(view(id) for id in seen)))
