"""Tries lines of a batch again: each gets a job of its own, beside those that it had.

Which jobs ended badly is asked of the server, and the lines come from where the batch keeps them; the batch itself only
hears of one more part.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from temporalio.client import WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from activities.batch_jobs import ENDED, class_of, job_id, jobs_of
from activities.batch_lines import read_part
from surefoot.batches.batch import Batch
from surefoot.batches.results import first_parts, retried_parts
from surefoot.batches.submitting import put_parts
from surefoot.errors import JobEnded, WrongValue
from surefoot.rpc import reaching
from workflows import labels
from workflows.batch import again
from workflows.batch_contracts import BatchLine, BatchRetry, BatchState, LineClass

SHOWN = 5


class Again(NamedTuple):
    """A line to be tried again, and how its last job ended."""

    line: BatchLine
    ended: LineClass


async def retry(
    batch: Batch, kinds: Collection[LineClass] = ("failed", "incomplete"), custom_ids: Collection[str] | None = None
) -> int:
    """Try lines again whose jobs ended in one of these ways, or those with these ids; how many there are.

    A batch that has ended runs again; one that was cancelled goes on with what it had not begun. Raises `WrongValue`
    for an id that the batch does not have, or whose job has not ended.
    """
    state = await batch.state()
    with reaching(batch.id):
        ends = await _ends(batch, state, None if custom_ids is not None else kinds)
        chosen = await _chosen(batch, state, ends, custom_ids)
        if not chosen:
            return 0
        await _send(batch, state, chosen)
    return len(chosen)


async def _ends(batch: Batch, state: BatchState, kinds: Collection[LineClass] | None) -> dict[str, LineClass]:
    """The batch's ended jobs, by id, with how their last runs ended."""
    seen: dict[str, LineClass] = {}
    async for run in batch.temporal.list_workflows(f"{jobs_of(batch.id)} AND {ENDED}"):
        seen.setdefault(run.id, class_of(run))  # the last run comes first
    return {job: kind for job, kind in seen.items() if kinds is None or kind in kinds}


async def _chosen(
    batch: Batch, state: BatchState, ends: Mapping[str, LineClass], custom_ids: Collection[str] | None
) -> list[Again]:
    latest: dict[int, BatchLine] = {}
    for part in (*first_parts(state), *retried_parts(state)):
        for line in await read_part(batch.temporal, part.id):
            if line.number in latest or custom_ids is None or line.custom_id in custom_ids:
                latest[line.number] = line
    if custom_ids is not None:
        _check(batch, custom_ids, latest.values(), ends)
    found = [Again(line, ends[job]) for line in latest.values() if (job := job_id(batch.id, line)) in ends]
    return sorted(found, key=lambda each: each.line.number)


def _check(
    batch: Batch, custom_ids: Collection[str], lines: Collection[BatchLine], ends: Mapping[str, LineClass]
) -> None:
    known = {line.custom_id for line in lines}
    if missing := sorted(set(custom_ids) - known):
        raise WrongValue(f"batch {batch.id} has no line with custom_id {', '.join(map(repr, missing[:SHOWN]))}")
    if open_ := [line.custom_id for line in lines if job_id(batch.id, line) not in ends]:
        raise WrongValue(
            f"the jobs of {', '.join(map(repr, open_[:SHOWN]))} have not ended, so they can't be tried again yet"
        )


async def _send(batch: Batch, state: BatchState, chosen: list[Again]) -> None:
    lines = [each.line.model_copy(update={"attempt": each.line.attempt + 1}) for each in chosen]
    print_ = hashlib.sha256(" ".join(job_id(batch.id, line) for line in lines).encode()).hexdigest()[:16]
    description = await batch.describe()
    parts = await put_parts(batch.temporal, description.task_queue, f"{batch.id}/retry-{print_}", lines)
    word = BatchRetry(id=print_, parts=parts, superseded=dict(Counter(each.ended for each in chosen)))
    if description.status == WorkflowExecutionStatus.RUNNING:
        try:
            await batch.handle().signal("try_again", word)
            return
        except JobEnded:
            state = await batch.state()
    await _start_again(batch, state, word, description.task_queue)


async def _start_again(batch: Batch, state: BatchState, word: BatchRetry, queue: str) -> None:
    state = state.model_copy(update={"ending": None, "hold": None}, deep=True)
    again(state, word)
    await batch.temporal.start_workflow(
        labels.BATCH_WORKFLOW,
        state,
        id=batch.id,
        task_queue=queue,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        memo=labels.batch_memo(state),
        search_attributes=labels.batch_search_attributes(batch.id, state),
    )
