"""One named queue as people reach it: how it stands, and words that change how its jobs begin.

How its jobs stand is counted by the server, so no worker need be up to see it.
"""

from collections.abc import Sequence
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from surefoot.errors import JobEnded, NoSuchJob, NoSuchQueue, WrongValue
from surefoot.rpc import reaching
from workflows import labels
from workflows.contracts import Record
from workflows.queues.contracts import MOST_AT_ONCE, QueueChange, QueueNote, queue_id
from workflows.showing import PHASE, QUEUE

ENDED = (
    "somebody ended its workflow on the server; it is there again, with the numbers of the app file, when the next job"
    " comes to it, or one of those that wait looks for it, within hours"
)


class QueueView(Record):
    """How a queue stands: `concurrency` jobs may run at a time, and `rate` begin in a minute (None: as many as may).

    `queued` ones have not begun, `running` ones hold places, `waiting` ones wait for people, or for a provider batch.
    `hold` is why none begins for now; of the batches `held` (the first of them are told) none does, and others do.
    """

    queue: str
    concurrency: int
    rate: float | None = None
    hold: str | None = None
    held: Sequence[str] = ()
    queued: int = 0
    running: int = 0
    waiting: int = 0


class NamedQueue:
    """A named queue of the jobs of one task queue."""

    def __init__(self, temporal: Temporal, task_queue: str, name: str) -> None:
        self._temporal, self._task_queue, self.name = temporal, task_queue, name

    def __repr__(self) -> str:
        return f"<NamedQueue {self.name}>"

    async def view(self) -> QueueView:
        """How it stands now. Raises `NoSuchQueue` until a job was started in it."""
        try:
            with reaching(self.name):
                description = await self._handle().describe()
                note = await description.memo_value("queue", type_hint=QueueNote)
        except NoSuchJob:
            raise self._not_there() from None
        counts = await self._counts()
        running, queued = counts.get("running", 0), counts.get("queued", 0)
        return QueueView(
            queue=self.name,
            concurrency=note.terms.concurrency,
            rate=note.terms.rate,
            hold=note.hold if description.status == WorkflowExecutionStatus.RUNNING else ENDED,
            held=note.held,
            queued=queued,
            running=running,
            waiting=sum(counts.values()) - running - queued,
        )

    async def _counts(self) -> dict[str, int]:
        jobs = (
            f"WorkflowType = '{labels.WORKFLOW}' AND TaskQueue = '{self._task_queue}' AND {QUEUE.name} = '{self.name}'"
            " AND ExecutionStatus = 'Running'"
        )
        counts: dict[str, int] = {}
        with reaching(self.name):
            for phase in ("queued", "running", "waiting", "paused", "batched"):
                found = await self._temporal.count_workflows(f"{jobs} AND {PHASE.name} = '{phase}'")
                counts[phase] = found.count
        return counts

    async def set(self, *, by: str, concurrency: int | None = None, rate: float | None = None) -> None:
        """Change its numbers until the app file says others than it says now; a `rate` of 0 lifts the rate."""
        if concurrency is not None and not 1 <= concurrency <= MOST_AT_ONCE:
            raise WrongValue(
                f"a queue lets 1 to {MOST_AT_ONCE:,} jobs run at a time, not {concurrency}; to hold it, pause it"
            )
        if rate is not None and not 0 <= rate < float("inf"):
            raise WrongValue(f"a queue's rate is jobs a minute, and 0 for no limit; {rate} is neither")
        if concurrency is None and rate is None:
            raise WrongValue(f"nothing to change in queue {self.name}: give a concurrency, a rate, or both")
        await self._change(QueueChange(concurrency=concurrency, rate=rate, by=by))

    async def pause(self, *, by: str, reason: str | None = None) -> None:
        """Let no more jobs begin; those that run go on."""
        await self._change(QueueChange(hold=reason or f"paused by {by}", by=by))

    async def resume(self, *, by: str) -> None:
        """Let jobs begin again."""
        await self._change(QueueChange(hold="", by=by))

    async def _change(self, change: QueueChange) -> None:
        try:
            with reaching(self.name):
                await self._handle().signal("change", change)
        except NoSuchJob:
            raise self._not_there() from None
        except JobEnded:
            raise NoSuchQueue(f"queue {self.name} can't be told anything: {ENDED}") from None

    def _handle(self) -> WorkflowHandle[Any, Any]:
        return self._temporal.get_workflow_handle(queue_id(self._task_queue, self.name))

    def _not_there(self) -> NoSuchQueue:
        return NoSuchQueue(
            f"no job was started in a queue {self.name!r} yet, so there is nothing to see or to change; its first"
            " numbers are those of the app file",
            "; see: surefoot queue list",
        )
