"""Schedules: what starts jobs again and again, at set times. Whoever creates one is who its jobs work by."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from surefoot.http.jobs import Agents, Jobs, Submitter, Viewer, client_of
from surefoot.http.paths import SCHEDULE
from surefoot.http.problems import PROBLEMS
from surefoot.http.requests import NewSchedule, PauseSchedule, limits_of
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
    """All schedules; how often each fired, only the schedule itself tells."""
    return SchedulePage(schedules=await client.schedules.list(limit=limit))


@router.post("", status_code=201)
async def create_schedule(person: Submitter, client: Jobs, agents: Agents, sent: NewSchedule) -> ScheduleView:
    """Start a job at each of these times. The same request again finds the same schedule."""
    if agents is not None:
        await agents.check(sent.agent)
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
        by=person.name,
        paused=sent.paused,
    )
    return await made.view()


def terms_of(sent: NewSchedule) -> Terms:
    lengths = {"every": sent.every_seconds, "jitter": sent.jitter_seconds, "catch_up": sent.catch_up_seconds}
    given = {
        **{name: timedelta(seconds=seconds) for name, seconds in lengths.items() if seconds is not None},
        **{name: getattr(sent, name) for name in ("cron", "timezone", "start", "end", "overlap")},
    }
    return Terms(**{name: value for name, value in given.items() if value})


@router.get(f"/{SCHEDULE}")
async def show_schedule(_: Viewer, schedule: TheSchedule) -> ScheduleView:
    """When it fires next, and the last jobs that it started."""
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
