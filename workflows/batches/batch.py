"""A batch: many jobs from one file, begun in order, so many at a time.

It knows no job: which jobs it has, and what became of them, is asked of the server. So a place is free when the server
says that fewer jobs run than may, in whatever way they ended, and 100,000 lines cost no more than 100.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception
from temporalio.exceptions import TimeoutError as NoAnswer

from workflows import policies, steps
from workflows.batches.contracts import BatchChange, BatchEnd, BatchRetry, BatchState, EndJobs, TendBatch, Tended
from workflows.failures import FAULTS, reason
from workflows.labels import BATCH_WORKFLOW, batch_memo
from workflows.queues.contracts import HoldBatch, HoldInQueue
from workflows.received import received, unanswered

PACES = (5.0, 15.0, 60.0, 300.0)
"""Seconds until parked jobs are looked at again, growing while nothing happens."""

SOON = timedelta(seconds=1)

LOOKS_WHILE_HELD = "batch-looks-while-held"


@workflow.defn(name=BATCH_WORKFLOW, failure_exception_types=FAULTS)
class Batch:
    """Runs one batch; its workflow id is the batch's id."""

    @workflow.init
    def __init__(self, state: BatchState) -> None:
        self._state = state
        self._changes = 0
        self._ends = 0
        self._looks = 0

    @workflow.run
    async def run(self, state: BatchState) -> BatchEnd:
        while not await self._done():
            if _is_long():
                workflow.continue_as_new(self._state, memo=dict(batch_memo(self._state)))
        await self._release()
        return BatchEnd(state=self._state, cancelled=self._state.ending is not None)

    async def _done(self) -> bool:
        """One look at the batch; whether it has ended."""
        state = self._state
        if state.ending is None and state.hold is not None and workflow.patched(LOOKS_WHILE_HELD):
            return await self._look_while_held()
        await self._held()
        if state.ending in ("stop", "cancel") or (state.ending is not None and state.order.queue is not None):
            request = EndJobs(batch=workflow.info().workflow_id, how=state.ending)
            await workflow.execute_activity(steps.end_jobs, request, **policies.BATCH)
            await self._tell_queue(held=False)
        seen, ends = self._changes, self._ends
        tended = await self._tend()
        why = tended.over_budget or tended.too_many_refused
        if why is not None and state.ending is None and self._changes == seen:
            state.hold, state.held_until = why, tended.held_until
            self._show()
        if tended.parked:
            await self._pause(seen, ends)
        # With a word that came meanwhile there may be more lines than the step knew of.
        return tended.ended and (state.begun >= state.ordered or state.ending is not None)

    async def _look_while_held(self) -> bool:
        """Nothing begins; jobs that were begun are looked after as ever, and may be the last."""
        state, seen, ends = self._state, self._changes, self._ends
        await self._tell_queue(held=True)
        tended = await self._tend(self._hold_left())
        if tended.ended and state.begun >= state.ordered and self._changes == seen:
            return True
        if self._changes == seen:
            await self._pause(seen, ends, self._hold_left())
        if self._changes == seen and state.held_until is not None and workflow.now() >= state.held_until:
            state.hold = state.held_until = None
            self._show()
        return False

    def _hold_left(self) -> timedelta | None:
        until = self._state.held_until
        return max(until - workflow.now(), SOON) if until else None  # a worker's clock may be behind

    async def _held(self) -> None:
        """Until somebody lets it go on, or it is time that it does by itself. Its jobs in a queue wait as well."""
        state = self._state
        while state.ending is None and (state.hold is not None or state.queue_held):
            seen, held = self._changes, state.hold is not None
            await self._tell_queue(held=held)
            if not held:
                continue
            try:
                await workflow.wait_condition(self._word_after(seen), timeout=self._hold_left())
            except TimeoutError:
                state.hold = state.held_until = None
                self._show()

    async def _tell_queue(self, *, held: bool) -> None:
        """Tell the queue that its jobs are in, if they are in one, unless it knows."""
        state = self._state
        if state.order.queue is None or state.queue_held == held:
            return
        word = HoldBatch(batch=workflow.info().workflow_id, held=held)
        order = HoldInQueue(queue=state.order.queue, word=word)
        await workflow.execute_activity(steps.hold_in_queue, order, **policies.QUEUE_WORD)
        state.queue_held = held

    def _word_after(self, seen: int) -> Callable[[], bool]:
        return lambda: self._changes != seen

    async def _tend(self, most: timedelta | None = None) -> Tended:
        """Look after the jobs, so long at most, until something has to be decided, or somebody has a word."""
        state, seen = self._state, self._changes
        request = TendBatch(batch=workflow.info().workflow_id, state=state.model_copy(deep=True))
        handle = workflow.start_activity(steps.tend_batch, request, **policies.BATCH)
        changed = asyncio.create_task(_until(lambda: self._changes != seen or _is_long(), most))
        recalled = False
        try:
            await workflow.wait((handle, changed), return_when=asyncio.FIRST_COMPLETED)
            if not handle.done():
                recalled = handle.cancel()  # it answers with how far it came
            tended = await handle
        except ActivityError as error:
            if is_cancelled_exception(error):
                return Tended(begun=state.begun, spent=state.spent)
            if not recalled:
                raise ApplicationError(reason(error), type="BatchFailed", non_retryable=True) from error
            # What is asked to end is not tried again by Temporal, also if its worker died before it could answer.
            tended = _last_beat(error) or Tended(begun=state.begun, spent=state.spent)
        finally:
            changed.cancel()
        if tended.begun != state.begun:
            state.begun_at = workflow.now()
        state.begun, state.spent = tended.begun, tended.spent
        state.refused |= tended.refused
        self._show()
        return tended

    async def _pause(self, seen: int, ends: int, most: timedelta | None = None) -> None:
        """Jobs wait for people: nothing is held for them, and the next look is some time away."""
        pace = timedelta(seconds=PACES[min(self._looks, len(PACES) - 1)])
        self._looks += 1
        try:
            await workflow.wait_condition(
                lambda: self._changes != seen or self._ends != ends, timeout=pace if most is None else min(pace, most)
            )
        except TimeoutError:
            return
        self._looks = 0

    async def _release(self) -> None:
        for part in self._state.parts:
            handle = workflow.get_external_workflow_handle(part.id)
            try:
                await handle.signal("release")
            except ApplicationError:
                workflow.logger.info("part %s was released before", part.id)

    def _show(self) -> None:
        workflow.upsert_memo(batch_memo(self._state))

    # --- what can be asked and sent

    @workflow.query
    def state(self) -> BatchState:
        return self._state

    @workflow.signal
    def change(self, *sent: object) -> None:
        """A person's word; the same word again changes nothing."""
        with unanswered():
            self._apply(received(BatchChange, sent))

    @workflow.signal
    def try_again(self, *sent: object) -> None:
        """Lines whose jobs ended are begun once more; the same retry again changes nothing."""
        with unanswered():
            self._try_again(received(BatchRetry, sent))

    @workflow.signal
    def job_ended(self, *_job: object) -> None:
        """A job that had waited for people has ended: look at once, not at the next look's time."""
        self._ends += 1

    def _apply(self, change: BatchChange) -> None:
        state = self._state
        if change.concurrency is not None:
            state.concurrency = change.concurrency
        if change.budget is not None:
            state.budget = change.budget
        if change.hold is not None:
            state.hold, state.held_until = change.hold or None, None
        if change.ending is not None:
            state.ending = change.ending
        self._changes += 1
        self._show()

    def _try_again(self, retry: BatchRetry) -> None:
        known = self._state.retries
        if retry.id not in known and retry.seen in (None, len(known)):
            again(self._state, retry)
            self._changes += 1
            self._show()


async def _until(holds: Callable[[], bool], most: timedelta | None) -> None:
    """Until it holds, or so much time is over."""
    with suppress(TimeoutError):
        await workflow.wait_condition(holds, timeout=most)


def _is_long() -> bool:
    """Signals lengthen the history also while the same activity tends the jobs."""
    return workflow.info().is_continue_as_new_suggested()


def _last_beat(error: ActivityError) -> Tended | None:
    """How far a step came that died without an answer."""
    cause = error.cause
    if not isinstance(cause, NoAnswer) or not cause.last_heartbeat_details:
        return None
    return Tended.model_validate(cause.last_heartbeat_details[0])


def again(state: BatchState, retry: BatchRetry) -> None:
    """Put the retry's lines behind all others."""
    state.retries.append(retry.id)
    state.parts += retry.parts
    for kind, count in retry.superseded.items():
        state.superseded[kind] = state.superseded.get(kind, 0) + count
    state.gone += len(retry.gone)
    for number in retry.gone:
        state.refused.pop(number, None)
