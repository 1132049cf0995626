"""One schedule as people reach it: when it fires next, what it fired, and words that change that."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Unpack

from temporalio.client import Client as Temporal
from temporalio.client import (
    ScheduleActionExecutionStartWorkflow,
    ScheduleDescription,
    ScheduleHandle,
)

from surefoot.schedules.changing import Changes, change
from surefoot.schedules.order import action_of, read_order
from surefoot.schedules.reaching import reaching_schedule
from surefoot.schedules.terms import Terms
from workflows.contracts import Limits, Record

SHOWN = 5


class Fired(Record):
    """A job that a schedule started: at what time it was due, and when it came to be."""

    job: str
    due_at: datetime
    started_at: datetime


class ScheduleView(Record):
    """How a schedule stands. `missed` firings were too late to be made up for, `skipped` ones met a job that ran.

    `by` is who made it, or changed it last. Lists have the beginning of the message.
    """

    schedule: str
    agent: str
    message: str
    terms: Terms
    paused: bool = False
    note: str | None = None
    tenant: str | None = None
    tags: Sequence[str] = ()
    by: str | None = None
    limits: Limits | None = None
    total: Limits | None = None
    model: str | None = None
    priority: int | None = None
    weight: float | None = None
    queue: str | None = None
    next: Sequence[datetime] = ()
    recent: Sequence[Fired] = ()
    running: Sequence[str] = ()
    fired: int | None = None
    missed: int | None = None
    skipped: int | None = None
    created_at: datetime | None = None


class Schedule:
    """A schedule on a server, by its id."""

    def __init__(self, temporal: Temporal, id: str) -> None:
        self._temporal = temporal
        self.id = id

    def __repr__(self) -> str:
        return f"<Schedule {self.id}>"

    async def view(self) -> ScheduleView:
        """How it stands now. Raises `NoSuchSchedule`."""
        description = await self._describe()
        with reaching_schedule(self.id):
            order, _ = await read_order(self._temporal, description)
        start, info, state = order.start, description.info, description.schedule.state
        job = {
            name: getattr(start, name)
            for name in ("agent", "tenant", "tags", "by", "limits", "total", "model", "queue")
        }
        return ScheduleView(
            schedule=self.id,
            **job,
            message=start.message,
            terms=order.terms,
            priority=order.priority,
            weight=order.weight,
            paused=state.paused,
            note=state.note,
            next=list(info.next_action_times[:SHOWN]),
            recent=fired(info.recent_actions),
            running=[
                each.workflow_id
                for each in info.running_actions
                if isinstance(each, ScheduleActionExecutionStartWorkflow)
            ],
            fired=info.num_actions,
            missed=info.num_actions_missed_catchup_window,
            skipped=info.num_actions_skipped_overlap,
            created_at=info.created_at,
        )

    async def queue(self) -> str:
        """The task queue that its jobs' workers serve. Raises `NoSuchSchedule`."""
        return action_of(await self._describe()).task_queue

    async def set(self, *, by: str, **changes: Unpack[Changes]) -> None:
        """Change what is named, and nothing else: times, the job, or how it is started; None takes something away.

        It holds from the next firing on; jobs that run go on as they began. Of `limits` and `total` each limit counts
        for itself. Raises as `Schedules.create` does, and then nothing has changed.
        """
        await change(self._temporal, self.id, changes, by)

    async def pause(self, *, by: str, reason: str | None = None) -> None:
        """Fire no more until it is resumed; jobs that run go on."""
        await self._describe()
        with reaching_schedule(self.id):
            await self._handle().pause(note=reason or f"paused by {by}")

    async def resume(self, *, by: str) -> None:
        """Fire again. What would have fired meanwhile is not made up for."""
        await self._describe()
        with reaching_schedule(self.id):
            await self._handle().unpause(note=f"resumed by {by}")

    async def trigger(self) -> None:
        """Fire now, once more than it would; `overlap` holds for this firing as well."""
        await self._describe()
        with reaching_schedule(self.id):
            await self._handle().trigger()

    async def delete(self) -> None:
        """Fire never again; jobs that it started go on."""
        await self._describe()
        with reaching_schedule(self.id):
            await self._handle().delete()

    async def _describe(self) -> ScheduleDescription:
        with reaching_schedule(self.id):
            description = await self._handle().describe()
        action_of(description)
        return description

    def _handle(self) -> ScheduleHandle:
        return self._temporal.get_schedule_handle(self.id)


def fired(actions: Any) -> list[Fired]:
    """The jobs of these firings, the last one first."""
    return [
        Fired(job=each.action.workflow_id, due_at=each.scheduled_at, started_at=each.started_at)
        for each in reversed(actions)
        if isinstance(each.action, ScheduleActionExecutionStartWorkflow)
    ][:SHOWN]
