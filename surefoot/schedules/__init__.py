"""Schedules: jobs that are started again and again, by Temporal's own schedules.

A job that a schedule starts is a job like any other: labelled alike, found by the same lists, answered and replied to
the same way. Its id is the schedule's with the time at which it was due.
"""

from collections.abc import Sequence

from temporalio.client import Client as Temporal
from temporalio.client import (
    Schedule as TemporalSchedule,
)
from temporalio.client import (
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleListActionStartWorkflow,
    ScheduleState,
)

from surefoot.charging import charged
from surefoot.errors import ScheduleConflict, WrongValue
from surefoot.priorities import checked_priority
from surefoot.schedules.reaching import reaching_schedule
from surefoot.schedules.schedule import NOTE, Fired, Schedule, ScheduleNote, ScheduleView, fired, seen_of
from surefoot.schedules.terms import Overlap, Terms
from surefoot.starting import digest
from surefoot.texts import agent_name, checked, marks, named
from workflows import labels
from workflows.contracts import JobStart, Limits

__all__ = ["Fired", "Overlap", "Schedule", "ScheduleView", "Schedules", "Terms"]


ID_BYTES = 900
"""The server takes ids of 1000 bytes, and a job's id has its time behind the schedule's."""


class Schedules:
    """The schedules of one server; jobs of new ones are done by the workers of `task_queue`."""

    def __init__(self, temporal: Temporal, task_queue: str) -> None:
        self._temporal = temporal
        self._task_queue = task_queue

    def __getitem__(self, id: str) -> Schedule:
        """The schedule of this id; whether it exists is seen when it is asked for something."""
        return Schedule(self._temporal, id)

    async def create(
        self,
        id: str,
        agent: str,
        message: str,
        terms: Terms,
        *,
        limits: Limits | None = None,
        total: Limits | None = None,
        model: str | None = None,
        tenant: str | None = None,
        tags: Sequence[str] = (),
        priority: int | None = None,
        weight: float | None = None,
        by: str | None = None,
        paused: bool = False,
    ) -> Schedule:
        """Start a job of `agent` on `message` at each time of `terms`; all else is as for `Client.start`.

        Created again, all alike, it is the same schedule, whatever was done to it since. Raises `ScheduleConflict` if
        there is another one of this id, `WrongValue` for terms that can't be or that never come true.
        """
        start = JobStart(
            agent=agent_name(agent),
            message=checked(message),
            by=named(by),
            limits=limits,
            total=total,
            model=model,
            **marks(tenant, tags),
        )
        checked_priority(priority, weight)
        if not 1 <= len(id.encode()) <= ID_BYTES:
            raise WrongValue(
                f"a schedule's id has 1 to {ID_BYTES} bytes, this one has {len(id.encode())}: the ids of its jobs are"
                " made of it"
            )
        print_ = digest(start.model_dump_json(exclude={"by"}), terms.model_dump_json(), f"{priority} {weight}")
        note = ScheduleNote(
            agent=start.agent,
            message=start.message[: labels.MESSAGE_CHARS],
            terms=terms,
            tenant=start.tenant,
            tags=start.tags,
            by=start.by,
            print=print_,
        )
        wanted = TemporalSchedule(
            action=_action(id, await self._charged(start), self._task_queue, priority, weight),
            spec=terms.spec(),
            policy=terms.policy(),
            state=ScheduleState(paused=paused, note=f"created by {start.by}" if start.by else None),
        )
        await self._create(id, wanted, note)
        return self[id]

    async def _charged(self, start: JobStart) -> JobStart:
        with reaching_schedule("?"):
            return await charged(self._temporal, start)

    async def _create(self, id: str, wanted: TemporalSchedule, note: ScheduleNote) -> None:
        with reaching_schedule(id):
            try:
                handle = await self._temporal.create_schedule(id, wanted, memo={NOTE: note})
            except ScheduleAlreadyRunningError:
                before = await (await self._temporal.get_schedule_handle(id).describe()).memo_value(
                    NOTE, None, type_hint=ScheduleNote
                )
                if before is None or before.print != note.print:
                    raise ScheduleConflict(
                        f"schedule {id} exists already, with another job or other times: delete it first, or choose"
                        " another id"
                    ) from None
                return
            if not (await handle.describe()).info.next_action_times:
                await handle.delete()
                raise WrongValue(f"schedule {id} would never fire: no moment is as its times say; look at them again")

    async def list(self, *, limit: int = 100) -> list[ScheduleView]:
        """The server's schedules of jobs, without how often they fired, which `Schedule.view` tells."""
        views: list[ScheduleView] = []
        with reaching_schedule("?"):
            async for each in await self._temporal.list_schedules():
                if each.schedule is None or each.schedule.action != ScheduleListActionStartWorkflow(labels.WORKFLOW):
                    continue
                if (note := await each.memo_value(NOTE, None, type_hint=ScheduleNote)) is None:
                    continue  # somebody made it with Temporal's own tools
                state, info = each.schedule.state, each.info
                views.append(
                    ScheduleView(
                        schedule=each.id,
                        **seen_of(note),
                        paused=state.paused,
                        note=state.note,
                        next=list(info.next_action_times) if info else [],
                        recent=fired(info.recent_actions) if info else [],
                    )
                )
                if len(views) == limit:
                    break
        return views


def _action(
    id: str, start: JobStart, queue: str, priority: int | None, weight: float | None
) -> ScheduleActionStartWorkflow:
    return ScheduleActionStartWorkflow(
        labels.WORKFLOW,
        start,
        id=id,
        task_queue=queue,
        memo=labels.memo(start),
        typed_search_attributes=labels.search_attributes(start),
        static_summary=labels.summary(start),
        priority=labels.priority(start.tenant, priority, weight),
    )
