"""Sees which workflows are gone that would have had a last word: one that was terminated never says it."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import policies, steps
from workflows.batches.contracts import LookForBatch
from workflows.failures import reason

AT_ONCE = 100


async def gone(ids: Sequence[str], kind: str) -> set[str]:
    """Which of these workflows do not run any more, as far as it can be seen."""
    found = set[str]()
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        runs = await asyncio.gather(*(_runs(id, kind) for id in some))
        found |= {id for id, yes in zip(some, runs, strict=True) if not yes}
    return found


async def _runs(id: str, kind: str) -> bool:
    try:
        look = LookForBatch(batch=id, kind=kind)
        return (await workflow.execute_activity(steps.look_for_batch, look, **policies.QUEUE)).runs
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning("%s could not be looked for: %s", id, reason(error))
        return True
