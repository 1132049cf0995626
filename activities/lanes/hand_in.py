"""Hands a model call in for a provider batch, if its lane is one and the call can be a part of a batch.

The lane gets a pointer. Handing the same call in twice, after a crash, changes nothing: the lane knows it by its name.
"""

import logging
from datetime import UTC, datetime

from pydantic_core import to_json
from temporalio import activity
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from activities.attempts import Attempt
from activities.batches import jobs as batch_jobs
from activities.batches.standing import may_begin
from activities.lanes.choosing import choose
from activities.lanes.requests import LaneRequests, NotForLanes
from activities.tools.explain import said
from workflows.lanes.contracts import (
    FULL,
    LANE_WORKFLOW,
    HandedIn,
    HandIn,
    LaneLine,
    LaneLook,
    LaneSeen,
    LaneState,
    LaneTerms,
)

log = logging.getLogger(__name__)


class LaneDesk:
    """The activities with which jobs enter a lane, and a lane sees whether more of them may come."""

    def __init__(self, requests: LaneRequests, terms: LaneTerms) -> None:
        self._requests, self._terms = requests, terms

    @activity.defn
    async def hand_in(self, request: HandIn) -> HandedIn:
        attempt = Attempt()
        async with attempt.beating():
            try:
                return await self._handed_in(attempt, request)
            except RPCError:
                raise
            except Exception as error:  # asked at once, the model call says what is wrong, and what is to be done
                if not isinstance(error, NotForLanes):
                    log.exception("a call of %s can't be handed in", attempt.info.workflow_id)
                return HandedIn(lane="sync", why=said(error))

    async def _handed_in(self, attempt: Attempt, request: HandIn) -> HandedIn:
        client, info = activity.client(), attempt.info
        job, run_id = info.workflow_id or "", info.workflow_run_id or ""
        made = await self._requests.make(client, job, run_id, request.request)
        now = datetime.now(UTC)
        lane = choose(request.lane, made.provider.host, made.asked.model, request.until - now)
        if lane != "batch":
            return HandedIn(lane=lane)
        written = made.written()
        key = made.key(written, info.task_queue)
        if await _is_full(client, key.id):
            return HandedIn(lane="batch", id=key.id, full_for=self._terms.room)
        line = LaneLine(
            job=job,
            run_id=run_id,
            # The entries are with the job, and in this worker's copy of them: not in the lane's history.
            request=request.request.model_copy(update={"new": None, "tail": []}),
            size=len(to_json(written.body)),
            handed=now,
            until=request.until,
            **({"batch": request.batch} if request.batch else {}),
        )
        await client.start_workflow(
            LANE_WORKFLOW,
            LaneState(key=key, terms=self._terms, looks_for_out=True),
            id=key.id,
            task_queue=info.task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal="hand_in",
            start_signal_args=[line],
        )
        return HandedIn(lane="batch", id=key.id)

    @activity.defn
    async def look_at_lane(self, request: LaneLook) -> LaneSeen:
        async with Attempt().beating():
            return LaneSeen(all_wait=await _all_wait(activity.client(), request))


async def _is_full(client: Client, lane: str) -> bool:
    try:
        return bool(await (await client.get_workflow_handle(lane).describe()).memo_value(FULL, False))
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False


async def _all_wait(client: Client, request: LaneLook) -> bool:
    """Whether no job of these batches can hand anything in before a provider batch answers, or a person does."""
    batched = 0
    for batch in request.batches:
        counts = await batch_jobs.count(client, batch)
        if counts.running > counts.waiting + counts.batched or await may_begin(client, batch, counts):
            return False
        batched += counts.batched
    # More than are known to wait: some have their answers, and visibility does not know it yet.
    return batched <= request.known
