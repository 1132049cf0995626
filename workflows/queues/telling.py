"""Tells jobs that they may begin, or why they can't: so many at a time as the server bears of one workflow."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import FailureError

AT_ONCE = 1000
"""The server takes 2,000 signals of one workflow that are under way, and with one more its task fails for ever."""


async def tell_all(jobs: Sequence[str], refusal: str | None = None) -> list[bool]:
    """Let jobs begin, or tell them why they can't; False for each one that has ended."""
    told: list[bool] = []
    for start in range(0, len(jobs), AT_ONCE):
        told += await asyncio.gather(*(_tell(job, refusal) for job in jobs[start : start + AT_ONCE]))
    return told


async def _tell(job: str, refusal: str | None) -> bool:
    handle = workflow.get_external_workflow_handle(job)
    try:
        await handle.signal("begin", *(() if refusal is None else (refusal,)))
    except FailureError:
        return False
    return True
