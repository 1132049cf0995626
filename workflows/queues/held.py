"""Sees which batches are gone that a queue passes over: one that was terminated never says that it goes on."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import policies, steps
from workflows.batches.contracts import LookForBatch
from workflows.failures import reason

LOOK = timedelta(minutes=5)
"""How often it is looked, while any is held."""

AT_ONCE = 100


async def gone(batches: Sequence[str]) -> set[str]:
    """Which of these do not run any more, as far as it can be seen."""
    found = set[str]()
    for start in range(0, len(batches), AT_ONCE):
        some = batches[start : start + AT_ONCE]
        runs = await asyncio.gather(*map(_runs, some))
        found |= {batch for batch, yes in zip(some, runs, strict=True) if not yes}
    return found


async def _runs(batch: str) -> bool:
    try:
        look = LookForBatch(batch=batch)
        return (await workflow.execute_activity(steps.look_for_batch, look, **policies.QUEUE)).runs
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning("batch %s could not be looked for: %s", batch, reason(error))
        return True
