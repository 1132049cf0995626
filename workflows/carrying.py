"""What a run of a job begins with: a fresh state or that of an earlier run, its limits, and what earlier runs recorded.

What the run before left open has its result first, so that every provider takes the transcript.
"""

from collections.abc import Sequence

from temporalio import workflow

from workflows import policies, steps
from workflows.contracts import (
    AgentSpec,
    CallState,
    ChildJob,
    JobStart,
    JobState,
    Logged,
    QueuePlace,
    ReadSegment,
    Result,
    Segment,
    Spent,
)
from workflows.limits import NO_LIMITS
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


def allow(state: JobState, start: JobStart, spec: AgentSpec) -> None:
    """A reply has the limits that its job began with, but for those that it names itself; totals stay."""
    if start.carry is not None and start.carry.spec is not None:
        state.limits = state.limits.changed(start.limits)
        return
    state.limits = spec.limits.changed(start.limits)
    if spec.total or start.total:
        state.total = (spec.total or NO_LIMITS).changed(start.total)


async def recorded(segments: Sequence[Segment], spec: AgentSpec) -> list[Logged]:
    """All entries of earlier runs, read from their histories. Raises `ValueError` if some are missing."""
    entries: list[Logged] = []
    for segment in segments:
        wanted = len(entries) + segment.entries
        while len(entries) < wanted:
            start = segment.entries - (wanted - len(entries))
            request = ReadSegment(run_id=segment.run_id, start=start, **({"job": segment.job} if segment.job else {}))
            page = await workflow.execute_activity(steps.read_segment, request, **policies.model(spec))
            if not page.entries:
                raise ValueError(f"run {segment.run_id} has {page.total} entries, {segment.entries} were expected")
            entries += page.entries[: wanted - len(entries)]
    return entries


def left_open(calls: Sequence[CallState]) -> list[Result]:
    """Results for calls that their run left without one."""
    return [call.result or interrupted(call) for call in calls if not call.told]
