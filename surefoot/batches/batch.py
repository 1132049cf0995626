"""One batch as people reach it: how it stands, and words that change how it runs.

How its jobs stand is counted by the server, so no worker need be up to see it; what was spent comes from the batch.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from temporalio.client import Client as Temporal
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)

from activities.batches import jobs as batch_jobs
from activities.batches.jobs import Counts
from activities.batches.standing import Standing, last_beat, standing
from surefoot.asking import ask
from surefoot.ends import ANSWER_WITHIN
from surefoot.errors import BatchEnded, BatchGivenUp, JobEnded, NoSuchBatch, NoSuchJob, WrongValue
from surefoot.rpc import reaching
from surefoot.texts import quoted
from surefoot.watching import watch
from workflows import labels
from workflows.batches.contracts import (
    BatchChange,
    BatchEnd,
    BatchEnding,
    BatchNote,
    BatchSpent,
    BatchState,
    Budget,
    Tended,
)
from workflows.contracts import Record

LOOK_SECONDS = 1.0

LATELY = timedelta(minutes=5)
"""Over how long a batch's rate is measured, once it has lasted so long."""

BROKEN: Mapping[WorkflowExecutionStatus | None, str] = {
    WorkflowExecutionStatus.TERMINATED: "was terminated on the server",
    WorkflowExecutionStatus.CANCELED: "was cancelled on the server",
    WorkflowExecutionStatus.TIMED_OUT: "ran out of its time on the server",
    WorkflowExecutionStatus.FAILED: "failed",
}

BatchPhase = Literal["running", "held", "waiting", "ending", "ended"]
"""`waiting`: all that is left waits for people. `held`: nothing more begins until somebody lets it go on."""


class BatchView(Record):
    """How a batch stands.

    Every line is in one of `queued`, `running`, `waiting` (for a person), `batched` (waiting for a provider batch),
    `done`, `incomplete`, `failed` and `forgotten` (its job was begun, and the server has it no more); lines that can't
    be jobs are failed. Of the `queued` ones `in_queue` have jobs, which wait for their places in the named `queue`; the
    others have none yet. `rate` is jobs a minute of late, `left_seconds` what that means for the rest.
    """

    batch: str
    state: BatchPhase
    lines: int
    queued: int = 0
    running: int = 0
    waiting: int = 0
    batched: int = 0
    done: int = 0
    incomplete: int = 0
    failed: int = 0
    forgotten: int = 0
    in_queue: int = 0
    concurrency: int
    hold: str | None = None
    ending: BatchEnding | None = None
    budget: Budget = Budget()
    spent: BatchSpent = BatchSpent()
    agent: str | None = None
    tenant: str | None = None
    rate: float | None = None
    left_seconds: float | None = None
    submitted_at: datetime
    ended_at: datetime | None = None
    queue: str | None = None

    def standing(self) -> "BatchView":
        """Without what changes as time goes by though nothing happens."""
        spent = self.spent.model_copy(update={"until": None})
        return self.model_copy(update={"rate": None, "left_seconds": None, "spent": spent})


class Batch:
    """A batch on a server, by its id."""

    def __init__(self, temporal: Temporal, id: str, *, answer_within: timedelta = ANSWER_WITHIN) -> None:
        self.temporal = temporal
        self.id = id
        self._answer_within = answer_within

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"

    # --- looking

    async def view(self) -> BatchView:
        """How it stands now. Raises `NoSuchBatch`."""
        description = await self.describe()
        with reaching(self.id):
            note = await description.memo_value("batch", type_hint=BatchNote)
            beat = await last_beat(self.temporal, description)
            counts = await batch_jobs.count(self.temporal, self.id, in_queue=note.queue is not None)
            lately = None
            if description.close_time is None and (since := datetime.now(UTC) - LATELY) > note.submitted:
                lately = await batch_jobs.ended_since(self.temporal, self.id, since)
        return _view(description, note, beat, counts, lately)

    def follow(self) -> AsyncIterator[BatchView]:
        """How it stands whenever that has changed, until it has ended."""
        return watch(self.view, every=LOOK_SECONDS)

    async def state(self) -> BatchState:
        """All that it is beside its jobs. Raises `NoWorker` if it runs and no worker answers."""
        description = await self.describe()
        with reaching(self.id):
            if description.status != WorkflowExecutionStatus.RUNNING:
                return (await self._end(description)).state
            state: BatchState = await ask(self.handle(), "state", BatchState, self._answer_within)
            return state

    async def _end(self, description: WorkflowExecutionDescription) -> BatchEnd:
        handle = self.temporal.get_workflow_handle(self.id, run_id=description.run_id, result_type=BatchEnd)
        try:
            end: BatchEnd = await handle.result(follow_runs=False)
            return end
        except WorkflowFailureError:
            return BatchEnd(state=await ask(handle, "state", BatchState, self._answer_within))

    async def describe(self) -> WorkflowExecutionDescription:
        try:
            with reaching(self.id):
                description = await self.handle().describe()
        except NoSuchJob:
            raise NoSuchBatch(f"there is no batch {self.id} on this server", "; see: surefoot batch list") from None
        if description.workflow_type != labels.BATCH_WORKFLOW:
            raise NoSuchBatch(f"{self.id} is no batch but a {description.workflow_type}")
        return description

    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.temporal.get_workflow_handle(self.id)

    # --- changing how it runs: what does not give it up raises `BatchGivenUp` once it is, all `BatchEnded` at its end

    async def pause(self, *, by: str, reason: str | None = None) -> None:
        """Begin no more jobs; those that run go on."""
        await self._change(BatchChange(hold=reason or f"paused by {by}", by=by))

    async def resume(self, *, by: str, budget: Budget | None = None) -> None:
        """Begin jobs again, with another budget if the old one is spent."""
        await self._change(BatchChange(hold="", by=by, **({"budget": budget} if budget else {})))

    async def set_concurrency(self, concurrency: int, *, by: str) -> None:
        """How many jobs may run at the same time from now on."""
        if concurrency < 1:
            raise WrongValue(f"a batch runs at least one job at a time, not {concurrency}; to hold it, pause it")
        await self._change(BatchChange(concurrency=concurrency, by=by))

    async def cancel(self, how: BatchEnding = "finish", *, by: str) -> None:
        """Begin no more jobs; those that run may `finish`, are told to `stop`, or are ended now (`cancel`)."""
        await self._change(BatchChange(ending=how, by=by))

    async def must_go_on(self) -> None:
        """Raises `BatchGivenUp` if no more of its jobs begin though it has not ended yet."""
        description = await self.describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            return
        with reaching(self.id):
            note = await description.memo_value("batch", type_hint=BatchNote)
        if note.ending is not None:
            command = f", then lines can be tried again: surefoot batch retry {quoted(self.id)}"
            raise BatchGivenUp(
                f"batch {self.id} is given up, so no more of its jobs begin, whatever it is told; it ends when those"
                " that run have ended",
                command,
            )

    async def _change(self, change: BatchChange) -> None:
        if change.ending is None:
            await self.must_go_on()
        else:
            await self.describe()
        try:
            with reaching(self.id):
                await self.handle().signal("change", change)
        except JobEnded:
            command = f"; try lines again: surefoot batch retry {quoted(self.id)}"
            raise BatchEnded(f"batch {self.id} has ended", command) from None


def _view(
    description: WorkflowExecutionDescription, note: BatchNote, beat: Tended | None, counts: Counts, lately: int | None
) -> BatchView:
    ended = description.status != WorkflowExecutionStatus.RUNNING
    lines = standing(note, beat, counts, ended=ended)
    rate = _rate((description.close_time or datetime.now(UTC)) - note.submitted, counts.ended, lately)
    phase = _phase(ended, note, lines)
    left = lines.running + lines.batched + (lines.queued if phase == "running" else lines.in_queue)
    return BatchView(
        batch=description.id,
        state=phase,
        lines=note.lines,
        **asdict(lines),
        concurrency=note.concurrency,
        hold=_broken(description) or note.hold,
        ending=note.ending,
        budget=note.budget,
        spent=beat.spent if beat else note.spent,
        agent=note.agent,
        tenant=note.tenant,
        queue=note.queue,
        rate=round(rate, 1) if rate else None,
        left_seconds=round(60 * left / rate) if rate and left and phase in ("running", "ending") else None,
        submitted_at=note.submitted,
        ended_at=description.close_time,
    )


def _rate(so_far: timedelta, ended: int, lately: int | None) -> float | None:
    """Ends in a minute, as it went lately: what was held for an hour goes on as fast as ever."""
    count, over = (lately, LATELY) if lately else (ended, so_far)
    return 60 * count / over.total_seconds() if count and over else None


def _broken(description: WorkflowExecutionDescription) -> str | None:
    """What there is to say of a batch that did not end by itself."""
    if (how := BROKEN.get(description.status)) is None:
        return None
    return (
        f"its workflow {how}: jobs that run go on, and no other line begins until somebody lets it go on:"
        f" surefoot batch retry {quoted(description.id)}"
    )


def _phase(ended: bool, note: BatchNote, lines: Standing) -> BatchPhase:
    if ended:
        return "ended"
    if note.ending is not None:
        return "ending"
    if note.hold is not None:
        return "held"
    return "waiting" if lines.waiting and not (lines.running or lines.batched or lines.queued) else "running"
