"""A named queue: lets its jobs begin in their order, so many at a time and in a minute.

Jobs tell it when they come and when they end. Whoever gives a place away otherwise, because it waits for a person or
was terminated, is seen by looks at the server, which are taken only while others wait for a place.
"""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import policies, steps
from workflows.failures import reason
from workflows.labels import BATCH_WORKFLOW
from workflows.lookups import gone
from workflows.queues.contracts import (
    JOB_QUEUE,
    HoldBatch,
    LookAtQueue,
    QueueChange,
    QueueEntry,
    QueueState,
    QueueTerms,
    queue_memo,
)
from workflows.queues.telling import tell_all
from workflows.received import received, received_loosely, unanswered

HELD_LOOK = timedelta(minutes=5)
"""How often it is looked which of the held batches are gone."""

LOOK = timedelta(seconds=5)
"""How often it is looked which jobs still hold their places."""

WAITING_BYTES = 500_000
"""Most bytes of ids that wait, since all of them are handed from run to run."""


# No failure types, on purpose: a queue that failed would forget who waits, while one whose code is mended goes on.
@workflow.defn(name=JOB_QUEUE)
class JobQueue:
    """Keeps one queue, and never ends; its workflow id is made of task queue and name."""

    @workflow.init
    def __init__(self, state: QueueState) -> None:
        self._state = state
        self._news = 0
        self._turned_away: list[str] = []
        self._look_at: datetime | None = None
        self._held_look_at: datetime | None = None
        self._bytes = sum(_size(job, state.batches.get(job)) for job in state.waiting)

    @workflow.run
    async def run(self, state: QueueState) -> None:
        self._expect_look_for_held()
        while True:
            seen = self._news
            await self._turn_away()
            await self._let_in()
            if not self._turned_away and workflow.info().is_continue_as_new_suggested():
                state.looks_for_held = True
                workflow.continue_as_new(state, memo=dict(queue_memo(state)))
            if self._news == seen:
                await self._wait(seen)
            if self._is_full() and (self._look_at is None or workflow.now() >= self._look_at):
                await self._look()
            if self._held_look_at is not None and workflow.now() >= self._held_look_at:
                await self._forget_held()

    async def _wait(self, seen: int) -> None:
        """Until somebody has a word, or it is time to let the next one in or to look who left."""
        state, now = self._state, workflow.now()
        wait: timedelta | None = None
        if self._is_full():
            wait = max(timedelta(0), (self._look_at or now) - now)
        elif self._next() is not None and state.hold is None and state.next_at is not None:
            wait = max(timedelta(0), state.next_at - now)
        if self._held_look_at is not None:
            till = max(timedelta(0), self._held_look_at - now)
            wait = till if wait is None else min(wait, till)
        try:
            await workflow.wait_condition(lambda: self._news != seen, timeout=wait)
        except TimeoutError:
            return

    def _is_full(self) -> bool:
        """Whether jobs wait for nothing but a place."""
        state = self._state
        return self._next() is not None and state.hold is None and len(state.places) >= state.terms.concurrency

    def _next(self) -> str | None:
        """The job whose turn it is: the first one that is of no held batch."""
        state = self._state
        if not state.held:
            return state.waiting[0] if state.waiting else None
        return next((job for job in state.waiting if state.batches.get(job) not in state.held), None)

    def _may_let_in(self) -> bool:
        state = self._state
        if self._next() is None or state.hold is not None or len(state.places) >= state.terms.concurrency:
            return False
        return state.next_at is None or workflow.now() >= state.next_at

    async def _let_in(self) -> None:
        state = self._state
        while self._may_let_in():
            chosen: list[str] = []
            while self._may_let_in() and (job := self._next()) is not None:
                chosen.append(job)
                self._forget(job)
                state.places.append(job)
                if state.terms.rate is not None:
                    state.next_at = workflow.now() + timedelta(minutes=1 / state.terms.rate)
            told = await tell_all(chosen)
            for job, there in zip(chosen, told, strict=True):
                if not there and job in state.places:
                    state.places.remove(job)

    def _forget(self, job: str) -> None:
        """It waits no longer."""
        self._state.waiting.remove(job)
        self._bytes -= _size(job, self._state.batches.pop(job, None))

    async def _turn_away(self) -> None:
        away, self._turned_away = self._turned_away, []
        why = f"queue {self._state.name} is full: {len(self._state.waiting):,} jobs wait in it; start this one later"
        await tell_all(away, why)

    async def _look(self) -> None:
        state = self._state
        before = list(state.places)
        self._look_at = workflow.now() + LOOK
        try:
            request = LookAtQueue(queue=state.name, places=before)
            seen = await workflow.execute_activity(steps.look_at_queue, request, **policies.QUEUE)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("queue %s could not be looked at: %s", state.name, reason(error))
            return
        # Meanwhile some may have left, and others been let in.
        kept = [job for job in seen.places if job in state.places or job not in before]
        state.places = kept + [job for job in state.places if job not in before and job not in kept]
        if seen.terms is not None:
            self._hear(seen.terms)

    def _expect_look_for_held(self) -> None:
        if not self._state.held:
            self._held_look_at = None
        elif self._state.looks_for_held and self._held_look_at is None:
            self._held_look_at = workflow.now() + HELD_LOOK

    async def _forget_held(self) -> None:
        """A batch that was terminated never takes its word back; its jobs are jobs like any other then."""
        lost = await gone(list(self._state.held), BATCH_WORKFLOW)
        self._state.held = [batch for batch in self._state.held if batch not in lost]
        self._held_look_at = None
        self._expect_look_for_held()
        if lost:
            workflow.upsert_memo(queue_memo(self._state))

    def _hear(self, said: QueueTerms) -> None:
        """The app file's word counts when it changes: until then, what a person set is kept."""
        state = self._state
        if said != state.said:
            state.said = state.terms = said
            state.next_at = None
            workflow.upsert_memo(queue_memo(state))

    # --- what can be asked and sent

    @workflow.query
    def state(self) -> QueueState:
        return self._state

    @workflow.signal
    def enter(self, *sent: object) -> None:
        """A job comes; the same one again changes nothing."""
        with unanswered():
            entry, state = received_loosely(QueueEntry, sent), self._state
            self._hear(entry.terms)
            if entry.job in state.waiting or entry.job in state.places:
                return
            # Kept, and not added up each time: thousands may come while one task of this workflow runs.
            if self._bytes + (size := _size(entry.job, entry.batch)) > WAITING_BYTES:
                self._turned_away.append(entry.job)
            else:
                self._bytes += size
                state.waiting.append(entry.job)
                state.batches |= {entry.job: entry.batch} if entry.batch is not None else {}
            self._news += 1

    @workflow.signal
    def left(self, *sent: object) -> None:
        """A job has ended, wherever it stood."""
        job = str(sent[0]) if sent else ""
        if job in self._state.waiting:
            self._forget(job)
        if job in self._state.places:
            self._state.places.remove(job)
        self._news += 1

    @workflow.signal
    def hold_batch(self, *sent: object) -> None:
        """A batch begins no more jobs for now, or goes on; the same word again changes nothing."""
        with unanswered():
            word, state = received(HoldBatch, sent), self._state
            others = [batch for batch in state.held if batch != word.batch]
            state.held = [*others, word.batch] if word.held else others
            self._expect_look_for_held()
            self._news += 1
            workflow.upsert_memo(queue_memo(state))

    @workflow.signal
    def change(self, *sent: object) -> None:
        """A person's word; the same word again changes nothing."""
        with unanswered():
            change, state = received(QueueChange, sent), self._state
            given: dict[str, object] = {}
            if change.concurrency is not None:
                given["concurrency"] = change.concurrency
            if change.rate is not None:
                given["rate"] = change.rate or None
                state.next_at = None
            state.terms = state.terms.model_copy(update=given)
            if change.hold is not None:
                state.hold = change.hold or None
            self._news += 1
            workflow.upsert_memo(queue_memo(state))


def _size(job: str, batch: str | None) -> int:
    """What one that waits takes of what may be handed on."""
    return len(job.encode()) + len((batch or "").encode())
