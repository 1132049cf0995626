"""Looks after the jobs of a batch: begins them in order while fewer run than may, and says when there is none left.

It keeps nothing that the server does not know: how far it came rides in its heartbeats, and which jobs run is asked.
What visibility does not show yet is known by the jobs that were begun just now, which are listened to one by one.
"""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, Client, WorkflowHistoryEventFilterType
from temporalio.service import RPCError, RPCStatusCode

from activities.batches import jobs as batch_jobs
from activities.batches.jobs import FRESH, LATE, TAKES_A_PLACE, WAITS, Counts
from activities.batches.lines import Lines
from activities.batches.refusals import Refusals
from activities.batches.spent import charged, reached
from activities.budgets.spending import SpentUp, TenantSpending
from activities.server_clock import ServerClock
from workflows.batches.contracts import BatchLine, BatchOrder, TendBatch, Tended

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often the server is asked how the jobs stand."""

AT_ONCE = 10
"""How many jobs are begun at the same time."""
CLOSE = WorkflowHistoryEventFilterType.CLOSE_EVENT
PATIENCE_SECONDS = 30.0
"""How long jobs are waited for that visibility does not know though they were begun: somebody may have deleted them."""


class BatchTender:
    """The activity that begins the jobs of batches."""

    def __init__(self, spending: TenantSpending) -> None:
        self._spending = spending

    @activity.defn
    async def tend_batch(self, request: TendBatch) -> Tended:
        return await _Tending(activity.client(), request, self._spending).run()


@dataclass(frozen=True)
class _Fresh:
    """A job that was begun just now; it is listened to for its end."""

    since: datetime
    listening: asyncio.Task[None]


class _Tending:
    """One attempt to tend a batch."""

    def __init__(self, client: Client, request: TendBatch, spending: TenantSpending) -> None:
        info = activity.info()
        self._spending = spending
        self._client, self._batch, self._state = client, request.batch, request.state
        self._queue, self._token = info.task_queue, info.task_token
        before = info.heartbeat_details
        self._progress = (
            Tended.model_validate(before[0]) if before else Tended(begun=request.state.begun, spent=request.state.spent)
        )
        self._clock = ServerClock(info.started_time)
        self._refusals = Refusals(request.batch, request.state.refused)
        self._lines = Lines(client, request.state.parts)
        self._total = self._lines.total
        self._occupied = 0
        self._fresh: dict[str, _Fresh] = {}
        self._freed = asyncio.Event()
        self._missing_since: float | None = None

    async def run(self) -> Tended:
        try:
            while True:
                counts = await self._look()
                if (end := self._end_of(counts)) is not None:
                    return end
                await self._beat()
                if self._may_begin and (spent_up := await self._tenant_spent_up()) is not None:
                    return self._progress.model_copy(update={"over_budget": spent_up.why, "held_until": spent_up.until})
                await self._fill()
        except AsyncActivityCancelledError:
            return self._progress
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is None or not details.cancel_requested:
                raise  # the worker shuts down, and another one goes on from the last beat
            return self._progress
        finally:
            for each in self._fresh.values():
                each.listening.cancel()

    async def _beat(self) -> None:
        handle = self._client.get_async_activity_handle(task_token=self._token)
        await handle.heartbeat(self._progress)
        activity.heartbeat(self._progress)  # or else the SDK would take this attempt for a dead one

    # --- how it stands

    async def _look(self) -> Counts:
        now = self._clock.now()
        counts = await batch_jobs.count(self._client, self._batch)
        jobs = f"{batch_jobs.jobs_of(self._batch)} AND ExecutionStatus = 'Running'"
        if self._fresh:
            recent = f"{jobs} AND {WAITS} AND StartTime >= '{(now - 2 * FRESH).isoformat()}'"
            async for run in self._client.list_workflows(recent):
                self._no_longer_fresh(run.id)
        self._occupied = 0
        if counts.running > counts.idle:
            old = f"{jobs} AND {TAKES_A_PLACE} AND StartTime < '{(now - FRESH).isoformat()}'"
            self._occupied = await batch_jobs.number(self._client, old)
        # Not before they are counted there: between the two they would take no place.
        for job in [job for job, each in self._fresh.items() if each.since < now - FRESH]:
            self._no_longer_fresh(job)
        until = None if self._is_over(counts) else now - LATE
        spent = await charged(self._client, self._batch, self._progress.spent, until)
        self._progress = self._progress.model_copy(update={"spent": spent})
        return counts

    @property
    def _may_begin(self) -> bool:
        held = self._state.hold is not None
        return self._state.ending is None and not held and self._progress.begun < self._total

    def _is_over(self, counts: Counts) -> bool:
        """Whether every job that is to be has ended, as far as visibility knows."""
        if self._may_begin or self._fresh or counts.running:
            self._missing_since = None
            return False
        refused = self._state.refused.keys() | self._progress.refused.keys()
        expected = self._progress.begun - self._state.gone - len(refused)
        if counts.ended >= expected:
            return True
        since = self._missing_since = self._missing_since or time.monotonic()
        if time.monotonic() - since < PATIENCE_SECONDS:
            return False
        log.warning("batch %s: %d jobs are not to be found any more", self._batch, expected - counts.ended)
        return True

    def _end_of(self, counts: Counts) -> Tended | None:
        """What to answer with, if there is nothing to do for now."""
        if self._is_over(counts):
            return self._progress.model_copy(update={"ended": True})
        if self._may_begin and (why := reached(self._state.budget, self._progress.spent)):
            return self._progress.model_copy(update={"over_budget": why})
        if self._may_begin and (why := self._refusals.too_many(self._progress.refused)):
            return self._progress.model_copy(update={"too_many_refused": why})
        if not self._may_begin and not self._fresh and counts.idle and counts.running == counts.idle:
            return self._progress.model_copy(update={"parked": True})
        return None

    async def _tenant_spent_up(self) -> SpentUp | None:
        """The reached budget of the tenant for whom this batch works; beats go on, since a first look may take long."""
        tenant = self._state.order.tenant
        if tenant is None or not self._spending.concerns(tenant):
            return None
        looking = asyncio.create_task(self._spending.spent_up(self._client, tenant, self._clock.now()))
        try:
            while not (await asyncio.wait((looking,), timeout=LOOK_SECONDS))[0]:
                await self._beat()
        finally:
            looking.cancel()
        return looking.result()

    # --- beginning jobs

    async def _fill(self) -> None:
        """Begin what there is room for, until it is time to look again."""
        deadline = time.monotonic() + LOOK_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            free = self._state.concurrency - self._occupied - len(self._fresh)
            if free > 0 and self._may_begin and not self._refusals.too_many(self._progress.refused):
                await self._begin(min(free, AT_ONCE))
                continue
            self._freed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), left)

    async def _begin(self, most: int) -> None:
        lines = await self._lines.read(self._progress.begun, most)
        order = self._state.order
        starts = asyncio.gather(*(self._begin_one(line, order) for line in lines))
        try:
            await asyncio.shield(starts)
        finally:  # asked to end meanwhile, too: jobs that are not counted would not be waited for
            for job in await starts:
                if job is not None:
                    self._fresh[job] = _Fresh(self._clock.now(), asyncio.create_task(self._listen(job)))
            self._progress = self._progress.model_copy(update={"begun": self._progress.begun + len(lines)})

    async def _begin_one(self, line: BatchLine, order: BatchOrder) -> str | None:
        try:
            return await batch_jobs.begin(self._client, self._queue, self._batch, line, order, self._state.submitted)
        except RPCError as error:
            if error.status != RPCStatusCode.INVALID_ARGUMENT:
                raise
            log.warning("batch %s: line %d can't be a job: %s", self._batch, line.number, error)
            refused = self._refusals.with_one(self._progress.refused, line.number, str(error))
            self._progress = self._progress.model_copy(update={"refused": refused})
            return None

    async def _listen(self, job: str) -> None:
        """Until this job's run has ended, or a look counts it."""
        handle = self._client.get_workflow_handle(job)
        ends = handle.fetch_history_events(wait_new_event=True, event_filter_type=CLOSE, skip_archival=True)
        with suppress(RPCError):
            async for _ in ends:
                self._no_longer_fresh(job)
                break

    def _no_longer_fresh(self, job: str) -> None:
        if fresh := self._fresh.pop(job, None):
            fresh.listening.cancel()
            self._freed.set()
