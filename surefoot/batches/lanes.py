"""Lanes as people reach them: what waits in each, what holds it up, and the word that lets it go on."""

from datetime import datetime, timedelta

from temporalio.client import Client as Temporal

from surefoot.asking import ask
from surefoot.ends import ANSWER_WITHIN
from surefoot.errors import JobEnded, NoSuchJob, NoSuchLane
from surefoot.rpc import reaching
from workflows.contracts import Record
from workflows.lanes.contracts import LANE_WORKFLOW, LaneBooks, LaneChange, LaneState


class LaneView(Record):
    """How a lane stands: `waiting` requests are collected, `sent` ones are in `open_batches` at the provider.

    Without credit, or by somebody's word, it is held up: `hold` says why, `hold_until` when it tries again by itself.
    """

    lane: str
    model: str
    endpoint: str
    waiting: int
    sent: int
    open_batches: int
    hold: str | None = None
    hold_until: datetime | None = None
    books: LaneBooks = LaneBooks()


async def list_lanes(
    temporal: Temporal, queue: str | None = None, *, answer_within: timedelta = ANSWER_WITHIN
) -> list[LaneView]:
    """The lanes of the app of this task queue, or all of the server. Raises `NoWorker` if no worker of one answers."""
    query = f"WorkflowType = '{LANE_WORKFLOW}' AND ExecutionStatus = 'Running'"
    query += f" AND TaskQueue = '{queue}'" if queue is not None else ""
    views = []
    with reaching("?"):
        async for run in temporal.list_workflows(query):
            state: LaneState = await ask(temporal.get_workflow_handle(run.id), "state", LaneState, answer_within)
            views.append(_view(run.id, state))
    return sorted(views, key=lambda view: view.lane)


async def hold_lane(temporal: Temporal, lane: str, *, by: str, reason: str | None = None) -> None:
    """Send nothing more of this lane until `resume_lane`; what is at the provider comes back as always."""
    await _change(temporal, lane, LaneChange(hold=reason or f"paused by {by}", by=by))


async def resume_lane(temporal: Temporal, lane: str, *, by: str) -> None:
    """Let a lane send again at once. Raises `NoSuchLane` if there is none of this name."""
    await _change(temporal, lane, LaneChange(hold="", by=by))


async def _change(temporal: Temporal, lane: str, change: LaneChange) -> None:
    handle = temporal.get_workflow_handle(lane)
    try:
        with reaching(lane):
            if (await handle.describe()).workflow_type != LANE_WORKFLOW:  # a batch would heed the same word
                raise NoSuchJob(lane)
            await handle.signal("change", change)
    except (NoSuchJob, JobEnded):
        raise NoSuchLane(f"there is no lane {lane} on this server; see: surefoot batch lanes") from None


def _view(id: str, state: LaneState) -> LaneView:
    return LaneView(
        lane=id,
        model=state.key.model,
        endpoint=state.key.endpoint,
        waiting=len(state.lines),
        sent=sum(out.requests for out in state.out.values()),
        open_batches=len(state.out),
        hold=state.hold,
        hold_until=state.hold_until,
        books=state.books,
    )
