"""What a run of a job begins with: a fresh state or that of an earlier run, and results for what that one left open."""

from collections.abc import Sequence

from workflows.contracts import CallState, ChildJob, JobStart, JobState, QueuePlace, Result, Spent
from workflows.results import interrupted


def state_of(start: JobStart) -> JobState:
    """A fresh state, or the carried one; a new message starts a new allowance."""
    if start.carry is None:
        return JobState(
            agent=start.agent,
            model=start.model,
            by=start.by,
            tenant=start.tenant,
            tags=list(start.tags),
            parent=start.parent,
            root=start.root,
            lent=start.lent,
            batch=start.batch,
            lane=start.lane,
            lane_until=start.lane_until,
            charged=start.charged,
            queue=QueuePlace(name=start.queue) if start.queue is not None else None,
        )
    if start.resumed:
        return start.carry
    return start.carry.model_copy(
        update={
            "model": start.model or start.carry.model,
            "message": Spent(),
            "prints": [],
            "denied": [],
            "not_done": [],
            "calls": [],
            "odd_turns": 0,
            "bad_outputs": 0,
            "asked_to_cite": False,
            "compacting": "no",
            "closing": None,
            "closing_why": None,
            "paused": False,
            "stop_by": None,
            "by": start.by,
            "lent": None,  # a reply is its writer's own affair, not the parent's, nor the batch's
            "batch": None,
            "lane": "sync",
            "batched": None,
            "batched_seconds": 0.0,
            "charged": start.charged,
            "queue": None,  # a person waits for a reply
            "children": [_over(child) for child in start.carry.children],
        }
    )


def _over(child: ChildJob) -> ChildJob:
    """One whose parent ended first was cancelled with it."""
    return child if child.status is not None else child.model_copy(update={"status": "cancelled"})


def left_open(calls: Sequence[CallState]) -> list[Result]:
    """Results for calls that their run left without one, so that every provider takes the transcript."""
    return [call.result or interrupted(call) for call in calls if not call.told]
