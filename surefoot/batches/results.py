"""What became of each line of a batch, in the order of the file, as far as it is known.

A line's result is that of its job's last run, read from the job itself: there is no copy that could say otherwise.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Literal, get_args

from pydantic import Field, JsonValue

from activities.batches.jobs import job_id
from surefoot.batches.batch import Batch
from surefoot.batches.lines import lines_of
from surefoot.ends import fetch_end
from surefoot.errors import JobRunning, NoSuchJob
from workflows.batches.contracts import BatchLine, BatchState, PartRef
from workflows.contracts import JobPhase, JsonObject, Outcome, Record, Status
from workflows.showing import PHASE

READ_AT_ONCE = 16
"""How many jobs are asked for their ends at the same time."""

GONE = (
    "job {job} was begun, and the server has it no more: somebody deleted it, or its retention is over. What it did is"
    " not known; to do the line anew, retry it by its custom_id"
)

UNTOLD = (
    "the server took no job for this line, nor for many before it: see their errors, and retry it when they are mended"
)


class BatchResult(Record):
    """What became of one line.

    `state` is that of its job, or `queued` as long as it has none, or `forgotten`: the server has its job no more, and
    nobody knows how it ended. One that has ended has an `outcome`, unless no job could be started. `error` says what
    went wrong.
    """

    custom_id: str
    line: int
    job: str | None = None
    state: JobPhase | Literal["forgotten"]
    status: Status | None = None
    answer: str | None = None
    output: JsonValue = None
    error: str | None = None
    outcome: Outcome | None = None
    attempt: int = 1
    metadata: JsonObject = Field(default_factory=dict)


async def results(batch: Batch, *, whole: bool = False) -> AsyncIterator[BatchResult]:
    """What became of the lines whose jobs have ended or are forgotten; with `whole` all lines, those too that go on.

    Raises `NoSuchBatch` if the server has the batch no more, or its lines.
    """
    state = await batch.state()
    latest = await _latest(batch, state)
    reading: deque[asyncio.Task[BatchResult]] = deque()
    try:
        async for place, first in _placed(lines_of(batch, first_parts(state))):
            at, line = latest.get(first.number, (place, first))
            reading.append(asyncio.create_task(_result(batch, line, state, whole, begun=at < state.begun)))
            if len(reading) >= READ_AT_ONCE and _wanted(found := await reading.popleft(), whole):
                yield found
        while reading:
            if _wanted(found := await reading.popleft(), whole):
                yield found
    finally:
        for task in reading:
            task.cancel()


def first_parts(state: BatchState) -> Sequence[PartRef]:
    """The parts that hold the file, without those of lines that were tried again."""
    return state.parts[: _firsts(state)]


def retried_parts(state: BatchState) -> Sequence[PartRef]:
    return state.parts[_firsts(state) :]


def _firsts(state: BatchState) -> int:
    lines = 0
    for number, part in enumerate(state.parts):
        if lines == state.lines:
            return number
        lines += part.lines
    return len(state.parts)


async def _latest(batch: Batch, state: BatchState) -> dict[int, tuple[int, BatchLine]]:
    """The last attempt at each line that was tried again, with its place in the batch's order."""
    firsts = sum(part.lines for part in first_parts(state))
    again = _placed(lines_of(batch, retried_parts(state)), firsts)
    return {line.number: (place, line) async for place, line in again}


async def _placed(lines: AsyncIterator[BatchLine], start: int = 0) -> AsyncIterator[tuple[int, BatchLine]]:
    place = start
    async for line in lines:
        yield place, line
        place += 1


def _wanted(result: BatchResult, whole: bool) -> bool:
    return whole or result.state in ("ended", "forgotten")


async def _result(batch: Batch, line: BatchLine, state: BatchState, whole: bool, *, begun: bool) -> BatchResult:
    given = {"custom_id": line.custom_id, "line": line.number, "attempt": line.attempt, "metadata": line.metadata}
    if line.number in state.refused:
        return BatchResult(**given, state="ended", status="failed", error=state.refused[line.number] or UNTOLD)
    job = job_id(batch.id, line)
    try:
        outcome = (await fetch_end(batch.temporal, job)).outcome
    except NoSuchJob:
        if begun:
            return BatchResult(**given, job=job, state="forgotten", error=GONE.format(job=job))
        return BatchResult(**given, state="queued")
    except JobRunning:
        phase = await _phase(batch, job) if whole else "running"  # nobody sees what is not wanted
        return BatchResult(**given, job=job, state=phase)
    return BatchResult(
        **given,
        job=job,
        state="ended",
        status=outcome.status,
        answer=outcome.answer,
        output=outcome.output,
        error=outcome.error,
        outcome=outcome,
    )


async def _phase(batch: Batch, job: str) -> JobPhase:
    """How a job stands that runs, by what the server knows of itself."""
    found = (await batch.temporal.get_workflow_handle(job).describe()).typed_search_attributes.get(PHASE)
    return next((phase for phase in get_args(JobPhase) if phase == found), "running")
