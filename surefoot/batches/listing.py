"""The list of batches, from what the server itself keeps of them: no worker need be up."""

import asyncio

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution

from surefoot import run_pages
from surefoot.batches.batch import Batch, BatchView
from surefoot.errors import NoSuchBatch
from workflows import labels

AT_ONCE = 10
OUR_BATCHES = f"WorkflowType = '{labels.BATCH_WORKFLOW}'"


async def list_page(temporal: Temporal, *, limit: int, cursor: str | None = None) -> tuple[list[BatchView], str | None]:
    """How at most `limit` batches behind `cursor` stand, and the cursor of what follows (None at the end).

    Those under way come first, then those that have ended, the last one first. Raises `WrongValue` for a cursor that is
    none.
    """
    places = asyncio.Semaphore(AT_ONCE)

    async def view(id: str) -> BatchView | None:
        async with places:
            try:
                return await Batch(temporal, id).view()
            except NoSuchBatch:  # somebody deleted it just now
                return None

    async def views(runs: list[WorkflowExecution]) -> list[BatchView]:
        found = await asyncio.gather(*(view(run.id) for run in runs))
        return [each for each in found if each is not None]

    query = f"{OUR_BATCHES} AND {run_pages.NO_LINKS}"
    return await run_pages.list_page(temporal, OUR_BATCHES, query, views, limit=limit, cursor=cursor)
