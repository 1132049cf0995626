"""One schedule as people reach it: when it fires next, what it fired, and words that change that."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import (
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleDescription,
    ScheduleHandle,
)

from surefoot.errors import NoSuchSchedule
from surefoot.schedules.reaching import reaching_schedule
from surefoot.schedules.terms import Terms
from workflows import labels
from workflows.contracts import Record

SHOWN = 5
NOTE = "schedule"
"""Under which name the memo of a schedule keeps its `ScheduleNote`."""


class ScheduleNote(Record):
    """What a schedule was made of, as its memo keeps it. `print` tells another one under the same id from it."""

    agent: str
    message: str
    terms: Terms
    tenant: str | None = None
    tags: Sequence[str] = ()
    by: str | None = None
    print: str = ""


class Fired(Record):
    """A job that a schedule started: at what time it was due, and when it came to be."""

    job: str
    due_at: datetime
    started_at: datetime


class ScheduleView(Record):
    """How a schedule stands. `missed` firings were too late to be made up for, `skipped` ones met a job that ran."""

    schedule: str
    agent: str
    message: str
    terms: Terms
    paused: bool = False
    note: str | None = None
    tenant: str | None = None
    tags: Sequence[str] = ()
    by: str | None = None
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
            note: ScheduleNote | None = await description.memo_value(NOTE, None, type_hint=ScheduleNote)
        if note is None:
            raise NoSuchSchedule(f"schedule {self.id} was not made by Surefoot; look at it with Temporal's own tools")
        info, state = description.info, description.schedule.state
        return ScheduleView(
            schedule=self.id,
            **seen_of(note),
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
        action = (await self._describe()).schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)  # it is one of ours
        return action.task_queue

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
        action = description.schedule.action
        if not isinstance(action, ScheduleActionStartWorkflow) or action.workflow != labels.WORKFLOW:
            raise NoSuchSchedule(f"{self.id} is a schedule of something else than jobs")
        return description

    def _handle(self) -> ScheduleHandle:
        return self._temporal.get_schedule_handle(self.id)


def seen_of(note: ScheduleNote) -> dict[str, Any]:
    """What people see of what a schedule was made of."""
    return {name: getattr(note, name) for name in ("agent", "message", "terms", "tenant", "tags", "by")}


def fired(actions: Any) -> list[Fired]:
    """The jobs of these firings, the last one first."""
    return [
        Fired(job=each.action.workflow_id, due_at=each.scheduled_at, started_at=each.started_at)
        for each in reversed(actions)
        if isinstance(each.action, ScheduleActionExecutionStartWorkflow)
    ][:SHOWN]
