"""Changes a schedule in its place: what it fired, and what runs, stays known to it; what is not named stays as it is.

Temporal's client does not say which state of a schedule an update goes out from: of two at once the later one holds.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypedDict

from temporalio.client import Client as Temporal
from temporalio.client import Schedule as TemporalSchedule
from temporalio.client import ScheduleUpdate, ScheduleUpdateInput

from surefoot.errors import WrongValue
from surefoot.schedules.order import Order, action_of, order_of, read_order
from surefoot.schedules.reaching import reaching_schedule
from surefoot.schedules.terms import Overlap, Terms
from surefoot.texts import named
from workflows.contracts import Limits

OF_THE_JOB = ("agent", "message", "model", "tenant", "tags", "queue", "limits", "total")


class Changes(TypedDict, total=False):
    """What may be changed: fields of `Terms`, and what `Schedules.create` takes. None takes one away."""

    agent: str
    message: str
    cron: Sequence[str] | None
    every: timedelta | None
    jitter: timedelta | None
    timezone: str | None
    start: datetime | None
    end: datetime | None
    overlap: Overlap | None
    catch_up: timedelta | None
    limits: Limits | None
    total: Limits | None
    model: str | None
    tenant: str | None
    tags: Sequence[str] | None
    priority: int | None
    weight: float | None
    queue: str | None


async def change(temporal: Temporal, id: str, changes: Changes, by: str) -> None:
    """Change what is named. Raises as `Schedules.create` does, and then nothing has changed; `NoSuchSchedule`."""
    if not changes:
        raise WrongValue(f"nothing to change in schedule {id}: name at least one field, such as cron or message")
    handle = temporal.get_schedule_handle(id)
    with reaching_schedule(id):
        description = await handle.describe()
        before, note = await read_order(temporal, description)
    order = _changed(before, changes, by)
    kept = order.note(print=note.print, changed=order.print())
    state = description.schedule.state
    if not state.paused:
        state = replace(state, note=f"changed by {named(by)}")
    with reaching_schedule(id):
        wanted = await order.scheduled(temporal, id, action_of(description).task_queue, state, kept)
        await handle.update(_to(wanted))
        if order.terms == before.terms or (await handle.describe()).info.next_action_times:
            return
        await handle.update(_to(description.schedule))
    raise WrongValue(
        f"schedule {id} would never fire again: no moment is as these times say; it stays as it was. Look at them again"
    )


def _to(wanted: TemporalSchedule) -> Any:
    def update(_: ScheduleUpdateInput) -> ScheduleUpdate:
        return ScheduleUpdate(wanted)

    return update


def _changed(before: Order, changes: Changes, by: str) -> Order:
    """The order with these changes, checked as a new one. Whoever changes it is who its jobs work by from then on."""
    start = before.start
    job: dict[str, Any] = {name: getattr(start, name) for name in OF_THE_JOB}
    job |= {"priority": before.priority, "weight": before.weight}
    times: dict[str, Any] = dict(before.terms)
    for name, value in changes.items():
        if name in ("limits", "total"):
            job[name] = _merged(job[name], value)
        else:
            (times if name in Terms.model_fields else job)[name] = value
    for name in ("agent", "message"):
        if job[name] is None:
            raise WrongValue(f"a schedule needs its {name}: give another one, it can't be taken away")
    terms = Terms(**{name: value for name, value in times.items() if value is not None})
    return order_of(terms=terms, **{**job, "tags": job["tags"] or ()}, by=by)


def _merged(before: Limits | None, given: Any) -> Limits | None:
    """Limits that are named change, the others stay; so do those that the agent has for itself."""
    if given is None:
        return None
    kept = before.model_dump(exclude_unset=True) if before is not None else {}
    return Limits(**kept | given.model_dump(exclude_unset=True))
