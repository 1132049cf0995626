"""Tries lines of a batch again: each gets a job of its own, beside those that it had.

Which jobs ended badly is asked of the server, and the lines come from where the batch keeps them; the batch itself only
hears of one more part.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from temporalio.client import WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from activities.batches.jobs import ENDED, class_of, job_id, jobs_of
from surefoot.batches.batch import Batch
from surefoot.batches.lines import keep_lines, lines_of
from surefoot.batches.submitting import put_part, put_parts
from surefoot.describing import describe
from surefoot.errors import JobEnded, NoSuchJob, WrongValue
from surefoot.rpc import reaching
from surefoot.texts import quoted
from workflows import labels
from workflows.batches.batch import again
from workflows.batches.contracts import BatchLine, BatchLines, BatchRetry, BatchState, LineClass, PartRef

SHOWN = 5
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 10.0


class Again(NamedTuple):
    """A line to be tried again, and how its last job ended; None if the server has none."""

    line: BatchLine
    ended: LineClass | None


async def retry(
    batch: Batch, kinds: Collection[LineClass] = ("failed", "incomplete"), custom_ids: Collection[str] | None = None
) -> int:
    """Try lines again whose jobs ended in one of these ways, or those with these ids; how many lines begin.

    Lines that no job could be started for have failed; a line whose job the server has no more is tried again by its id
    alone, since nobody knows what it did. A batch that has ended runs again; one that was cancelled goes on with what
    it had not begun, which counts as well. Raises `WrongValue` for an id that the batch does not have, or whose job has
    not ended, `BatchGivenUp` while its last jobs run.
    """
    while True:
        await batch.must_go_on()
        state = await batch.state()
        with reaching(batch.id):
            left = await _left(batch, state)
            chosen = await _chosen(batch, state, left, kinds, custom_ids)
            begin = len(chosen) + left
            if not begin or await _send(batch, state, chosen):
                return begin
        # Another retry came first, perhaps of some of these lines: choose again.


async def _left(batch: Batch, state: BatchState) -> int:
    """How many jobs a batch that was given up, or whose workflow was ended, had not begun; they begin when it runs."""
    runs = (await batch.describe()).status == WorkflowExecutionStatus.RUNNING
    return state.ordered - state.begun if state.ending is not None or not runs else 0


async def _ends(batch: Batch) -> dict[str, LineClass]:
    """The batch's ended jobs, by id, with how their last runs ended."""
    seen: dict[str, LineClass] = {}
    async for run in batch.temporal.list_workflows(f"{jobs_of(batch.id)} AND {ENDED}"):
        seen.setdefault(run.id, class_of(run))  # the last run comes first
    return seen


async def _chosen(
    batch: Batch, state: BatchState, left: int, kinds: Collection[LineClass], custom_ids: Collection[str] | None
) -> list[Again]:
    ends = await _ends(batch)
    latest: dict[int, BatchLine] = {}
    begun, place = set[int](), 0
    async for line in lines_of(batch, state.parts):
        if line.number in latest or custom_ids is None or line.custom_id in custom_ids:
            latest[line.number] = line
            (begun.add if place < state.begun else begun.discard)(line.number)
        place += 1
    found = [Again(line, ends.get(job_id(batch.id, line))) for line in latest.values()]
    # A batch tells how many have begun when a step of it ends: the server may know of ends before.
    found = [each for each in found if each.ended or each.line.number in begun]
    if custom_ids is not None:
        found = [each for each in found if each.ended or await _is_gone(batch, each.line)]
        _check(batch, left, custom_ids, latest.values(), {each.line.number for each in found})
    else:
        found = [each for each in found if (each.ended or _refused(state, each.line)) in kinds]
    return sorted(found, key=lambda each: each.line.number)


def _refused(state: BatchState, line: BatchLine) -> LineClass | None:
    """A line that no job could be started for has failed."""
    return "failed" if line.number in state.refused else None


async def _is_gone(batch: Batch, line: BatchLine) -> bool:
    """Whether the server has the job of this line no more, which was begun."""
    try:
        await describe(batch.temporal, job_id(batch.id, line))
    except NoSuchJob:
        return True
    return False


def _check(
    batch: Batch,
    left: int,
    custom_ids: Collection[str],
    lines: Collection[BatchLine],
    may_go: Collection[int],
) -> None:
    known = {line.custom_id for line in lines}
    if missing := sorted(set(custom_ids) - known):
        raise WrongValue(f"batch {batch.id} has no line with custom_id {', '.join(map(repr, missing[:SHOWN]))}")
    if open_ := [line.custom_id for line in lines if line.number not in may_go]:
        named = ", ".join(map(repr, open_[:SHOWN]))
        if left:
            raise WrongValue(
                f"batch {batch.id} ended before it began {named}: it goes on with all that it had not begun",
                f" by: surefoot batch retry {quoted(batch.id)}",
            )
        raise WrongValue(f"the jobs of {named} have not ended, so they can't be tried again yet")


async def _send(batch: Batch, state: BatchState, chosen: list[Again]) -> bool:
    """Whether the batch takes these lines, which were chosen when it stood like this."""
    queue = (await batch.describe()).task_queue
    if (place := await _place(batch, len(state.retries), queue)) is None:
        return False
    lines = [each.line.model_copy(update={"attempt": each.line.attempt + 1}) for each in chosen]
    id = place.rpartition("/")[2]
    parts = [PartRef(id=place, lines=0), *await put_parts(batch.temporal, queue, batch.id, id, lines)]
    word = BatchRetry(
        id=id,
        parts=parts,
        superseded=dict(Counter(each.ended for each in chosen if each.ended)),
        seen=len(state.retries),
        gone=[each.line.number for each in chosen if not each.ended],
    )
    if not await _heard(batch, word):
        state = await batch.state()
        if word.seen == len(state.retries):
            await keep_lines(batch, state.parts, queue)
            with suppress(WorkflowAlreadyStartedError):
                await _start_again(batch, state, word, queue)
    return word.id in (await batch.state()).retries


async def _place(batch: Batch, before: int, queue: str) -> str | None:
    """The place behind so many retries, for this one alone; None if another one has taken it.

    A batch that has ended is started again from what it was: two that did so at once would lose each other's lines.
    Whoever took the place and was not seen again within `PATIENCE_SECONDS` gives it up.
    """
    for number in itertools.count():
        place = f"{batch.id}/retry-{before}.{number}"
        if await put_part(batch.temporal, queue, place, BatchLines(lines=[], batch=batch.id), once=True):
            return place
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if len((await batch.state()).retries) > before:
                return None
            await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError("unreachable: there is always another place")


async def _heard(batch: Batch, word: BatchRetry) -> bool:
    """Tell a batch that runs; False if it has ended."""
    try:
        with reaching(batch.id):
            await batch.handle().signal("try_again", word)
    except JobEnded:
        return False
    return True


async def _start_again(batch: Batch, state: BatchState, word: BatchRetry, queue: str) -> None:
    state = state.model_copy(update={"ending": None, "hold": None, "held_until": None}, deep=True)
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
