"""Schedules: jobs that are started again and again, by Temporal's own schedules.

A job that a schedule starts is a job like any other: labelled alike, found by the same lists, answered and replied to
the same way. Its id is the schedule's with the time at which it was due.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from temporalio.client import Client as Temporal
from temporalio.client import Schedule as TemporalSchedule
from temporalio.client import ScheduleAlreadyRunningError, ScheduleListActionStartWorkflow, ScheduleState

from surefoot.errors import NoSuchSchedule, ScheduleConflict, WrongValue
from surefoot.schedules.changing import Changes
from surefoot.schedules.order import NOTE, ScheduleNote, note_of, order_of
from surefoot.schedules.reaching import reaching_schedule
from surefoot.schedules.schedule import Fired, Schedule, ScheduleView
from surefoot.schedules.terms import Overlap, Terms
from surefoot.texts import named, quoted
from workflows import labels
from workflows.contracts import Limits

__all__ = ["Changes", "Fired", "Overlap", "Schedule", "ScheduleView", "Schedules", "Terms"]


ID_BYTES = 900
"""The server takes ids of 1000 bytes, and a job's id has its time behind the schedule's."""

AT_ONCE = 10
"""How many schedules are looked at together."""


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
        queue: str | None = None,
        by: str | None = None,
        paused: bool = False,
    ) -> Schedule:
        """Start a job of `agent` on `message` at each time of `terms`; all else is as for `Client.start`.

        Created again, all alike, it is the same schedule, whatever was done to it since. Raises `ScheduleConflict` if
        there is another one of this id, `WrongValue` for terms that can't be or that never come true.
        """
        order = order_of(
            agent,
            message,
            terms,
            limits=limits,
            total=total,
            model=model,
            tenant=tenant,
            tags=tags,
            priority=priority,
            weight=weight,
            queue=queue,
            by=by,
        )
        if not 1 <= len(id.encode()) <= ID_BYTES:
            raise WrongValue(
                f"a schedule's id has 1 to {ID_BYTES} bytes, this one has {len(id.encode())}: the ids of its jobs are"
                " made of it"
            )
        state = ScheduleState(paused=paused, note=f"created by {named(by)}" if by else None)
        with reaching_schedule(id):
            wanted = await order.scheduled(self._temporal, id, self._task_queue, state)
        await self._create(id, wanted, order.note(print=order.print()))
        return self[id]

    async def _create(self, id: str, wanted: TemporalSchedule, note: ScheduleNote) -> None:
        with reaching_schedule(id):
            try:
                handle = await self._temporal.create_schedule(id, wanted, memo={NOTE: note})
            except ScheduleAlreadyRunningError:
                if note.print in await self._prints(id):
                    return
                raise ScheduleConflict(
                    f"schedule {id} exists already, with another job or other times: delete it first, change it, or"
                    " choose another id",
                    f" (surefoot schedule set {quoted(id)})",
                ) from None
            if not (await handle.describe()).info.next_action_times:
                await handle.delete()
                raise WrongValue(f"schedule {id} would never fire: no moment is as its times say; look at them again")

    async def _prints(self, id: str) -> tuple[str, ...]:
        """Of what a schedule was made, and to what it was changed."""
        with suppress(NoSuchSchedule):  # somebody else made it
            note = await note_of(self._temporal, await self._temporal.get_schedule_handle(id).describe())
            return note.print, note.changed
        return ()

    async def list(self, *, limit: int = 100) -> list[ScheduleView]:
        """The server's schedules of jobs, with the beginnings of their messages."""
        ids: list[str] = []
        with reaching_schedule("?"):
            async for each in await self._temporal.list_schedules():
                if each.schedule is None or each.schedule.action != ScheduleListActionStartWorkflow(labels.WORKFLOW):
                    continue
                if await each.memo_value(NOTE, None, type_hint=ScheduleNote) is None:
                    continue  # somebody made it with Temporal's own tools
                ids.append(each.id)
                if len(ids) == limit:
                    break
        places = asyncio.Semaphore(AT_ONCE)

        async def view(id: str) -> ScheduleView | None:
            async with places:
                with suppress(NoSuchSchedule):  # the list may be late
                    found = await self[id].view()
                    return found.model_copy(update={"message": found.message[: labels.MESSAGE_CHARS]})
            return None

        return [found for found in await asyncio.gather(*(view(id) for id in ids)) if found is not None]
