"""Schedules: what starts jobs again and again. Who creates one, or changes it last, is who its jobs work by."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from surefoot.http.jobs import Agents, Jobs, Submitter, Viewer, client_of
from surefoot.http.paths import SCHEDULE
from surefoot.http.problems import PROBLEMS
from surefoot.http.requests import limits_of
from surefoot.http.schedule_requests import ChangeSchedule, NewSchedule, PauseSchedule
from surefoot.schedules import Schedule, ScheduleView, Terms

router = APIRouter(prefix="/schedules", tags=["schedules"], responses=PROBLEMS)


class SchedulePage(BaseModel):
    """Schedules, in no order."""

    schedules: list[ScheduleView]


def schedule_of(schedule: str, request: Request) -> Schedule:
    """The schedule that the path names."""
    return client_of(request).schedules[schedule]


TheSchedule = Annotated[Schedule, Depends(schedule_of)]
Limit = Annotated[int, Query(ge=1, le=1000)]


@router.get("")
async def list_schedules(_: Viewer, client: Jobs, limit: Limit = 100) -> SchedulePage:
    """All schedules, in no order."""
    return SchedulePage(schedules=await client.schedules.list(limit=limit))


@router.post("", status_code=201)
async def create_schedule(person: Submitter, client: Jobs, agents: Agents, sent: NewSchedule) -> ScheduleView:
    """Start a job at each of these times. The same request again finds the same schedule."""
    if agents is not None:
        await agents.check(sent.agent)
        await agents.check_queue(sent.queue)
    made = await client.schedules.create(
        sent.id,
        sent.agent,
        sent.message,
        terms_of(sent),
        limits=limits_of(sent.limits),
        total=limits_of(sent.total),
        model=sent.model,
        tenant=sent.tenant,
        tags=sent.tags,
        priority=sent.priority,
        weight=sent.weight,
        queue=sent.queue,
        by=person.name,
        paused=sent.paused,
    )
    return await made.view()


def terms_of(sent: NewSchedule) -> Terms:
    given = _given(sent)
    return Terms(**{name: value for name, value in given.items() if value and name in Terms.model_fields})


def _given(sent: NewSchedule | ChangeSchedule) -> dict[str, Any]:
    """What was sent, by the names of `Changes`."""
    given = {name: getattr(sent, name) for name in sent.model_fields_set}
    for name in ("every", "jitter", "catch_up"):
        if (sent_as := f"{name}_seconds") in given:
            seconds = given.pop(sent_as)
            given[name] = None if seconds is None else timedelta(seconds=seconds)
    for name in ("limits", "total"):
        if name in given:
            given[name] = limits_of(given[name])
    return given


@router.get(f"/{SCHEDULE}")
async def show_schedule(_: Viewer, schedule: TheSchedule) -> ScheduleView:
    """When it fires next, and the last jobs that it started."""
    return await schedule.view()


@router.patch(f"/{SCHEDULE}")
async def change_schedule(
    person: Submitter, schedule: TheSchedule, agents: Agents, sent: ChangeSchedule
) -> ScheduleView:
    """Change what is named, from the next firing on; its jobs work for whoever changed it last."""
    changes = _given(sent)
    if agents is not None:
        if "agent" in changes:
            await agents.check(changes["agent"])
        await agents.check_queue(changes.get("queue"))
    await schedule.set(by=person.name, **changes)
    return await schedule.view()


@router.post(f"/{SCHEDULE}/pause", status_code=202)
async def pause_schedule(person: Submitter, schedule: TheSchedule, sent: PauseSchedule | None = None) -> ScheduleView:
    """Fire no more until it is resumed."""
    await schedule.pause(by=person.name, reason=sent.reason if sent else None)
    return await schedule.view()


@router.post(f"/{SCHEDULE}/resume", status_code=202)
async def resume_schedule(person: Submitter, schedule: TheSchedule) -> ScheduleView:
    """Fire again; what would have fired meanwhile is not made up for."""
    await schedule.resume(by=person.name)
    return await schedule.view()


@router.post(f"/{SCHEDULE}/trigger", status_code=202)
async def trigger_schedule(_: Submitter, schedule: TheSchedule) -> ScheduleView:
    """Fire now, once more than it would."""
    await schedule.trigger()
    return await schedule.view()


@router.delete(f"/{SCHEDULE}", status_code=204)
async def delete_schedule(_: Submitter, schedule: TheSchedule) -> None:
    """Fire never again; jobs that it started go on."""
    await schedule.delete()
