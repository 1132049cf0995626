"""Lanes: what waits for provider batches, what holds it up, and letting it go on."""

from fastapi import APIRouter

from surefoot.batches.lanes import hold_lane, list_lanes, resume_lane
from surefoot.http.answers import LaneList, LaneRef
from surefoot.http.batch_requests import PauseLane
from surefoot.http.jobs import Jobs, Submitter, Viewer
from surefoot.http.paths import LANE
from surefoot.http.problems import PROBLEMS

router = APIRouter(prefix="/lanes", tags=["batches"], responses=PROBLEMS)


@router.get("")
async def show_lanes(_: Viewer, client: Jobs) -> LaneList:
    """The lanes of this app, by name, and how each stands."""
    return LaneList(lanes=await list_lanes(client.temporal, client.task_queue))


@router.post(f"/{LANE}/pause", status_code=202)
async def pause_lane(person: Submitter, client: Jobs, lane: str, sent: PauseLane | None = None) -> LaneRef:
    """Send nothing more; what is at the provider comes back as always."""
    await hold_lane(client.temporal, lane, by=person.name, reason=(sent or PauseLane()).reason)
    return LaneRef(lane=lane)


@router.post(f"/{LANE}/resume", status_code=202)
async def let_lane_go_on(person: Submitter, client: Jobs, lane: str) -> LaneRef:
    """Send again at once, also if it was out of credit."""
    await resume_lane(client.temporal, lane, by=person.name)
    return LaneRef(lane=lane)
