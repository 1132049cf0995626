"""A lane: collects model requests of many jobs and sends them as one provider batch, at half price.

Each provider batch is a workflow of its own, whose start is the record of the intent; it tells the lane what is to be
tried again. So the lane waits for nobody, and holds nothing but pointers.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError
from temporalio.workflow import ParentClosePolicy

from workflows import policies, steps
from workflows.failures import FAULTS
from workflows.lanes.contracts import (
    FULL,
    LANE_WORKFLOW,
    PROVIDER_BATCH,
    LaneBack,
    LaneBooks,
    LaneChange,
    LaneLine,
    LaneLook,
    LaneOut,
    LaneState,
    ProviderOrder,
)
from workflows.lookups import gone
from workflows.received import received, received_loosely, unanswered

GROWTH = 1.5
ROOM = 0.9
"""A full lane takes requests again when it holds this part of the most: its memo changes with waves, not with each."""

OUT_LOOK = timedelta(hours=1)
"""How often it is looked whether the provider batches under way are there."""

CALM = 2
"""How many looks in a row must find that all jobs wait: visibility is late."""

NAMES_KEPT = 50_000
"""Of how many requests under way the names are kept, since they are carried into each new run.

They are there for a hand-in that is repeated after a crash, which comes soon if it comes.
"""


@workflow.defn(name=LANE_WORKFLOW, failure_exception_types=FAULTS)
class Lane:
    """The lane of one account, model and endpoint; it stays open, and costs nothing while nothing waits in it."""

    @workflow.init
    def __init__(self, state: LaneState) -> None:
        self._state = state
        self._known = {line.name for line in state.lines} | {n for out in state.out.values() for n in out.names}
        self._news = 0
        self._calm = 0
        self._looks = 0
        self._out_look_at: datetime | None = None

    @workflow.run
    async def run(self, state: LaneState) -> None:
        while True:
            info = workflow.info()
            if info.is_continue_as_new_suggested() or info.get_current_history_length() >= state.terms.events:
                await workflow.wait_condition(workflow.all_handlers_finished)
                state.looks_for_out = True
                workflow.continue_as_new(state)
            await self._forget_lost()
            self._say_whether_full()
            await self._next()

    def _say_whether_full(self) -> None:
        state = self._state
        most = max(state.terms.most, state.terms.requests)
        full = self._requests() >= (most * ROOM if state.full else most)
        if full != state.full:
            state.full = full
            workflow.upsert_memo({FULL: full})

    async def _forget_lost(self) -> None:
        """A provider batch that was terminated never comes back: what it had must not keep the lane full."""
        state, now = self._state, workflow.now()
        if not state.out or not state.looks_for_out:
            self._out_look_at = None
        elif self._out_look_at is None:
            self._out_look_at = now + OUT_LOOK
        elif self._out_look_at <= now:
            self._out_look_at = now + OUT_LOOK
            for intent in sorted(await gone(list(state.out), PROVIDER_BATCH)):
                workflow.logger.warning("provider batch %s is gone; its jobs ask by themselves in time", intent)
                self._take_back(LaneBack(intent=intent))

    def _requests(self) -> int:
        """How many wait here or are at the provider."""
        return len(self._state.lines) + sum(out.requests for out in self._state.out.values())

    async def _next(self) -> None:
        """One step: send what is due, or else wait until something may be."""
        state, seen, now = self._state, self._news, workflow.now()
        if state.hold_until is not None and state.hold_until <= now:
            state.hold = state.hold_until = None
        if not state.lines or state.hold is not None:
            times = [at - now for at in (state.hold_until, self._out_look_at) if at is not None]
            await self._until_news(seen, max(min(times), timedelta(0)) if times else None)
        elif self._is_due(now):
            await self._send()
        else:
            await self._watch(seen, now)

    async def _until_news(self, seen: int, most: timedelta | None) -> bool:
        """Whether something came within that time."""
        with suppress(asyncio.TimeoutError):
            await workflow.wait_condition(lambda: self._news != seen, timeout=most)
        return self._news != seen

    # --- when a batch is sent

    def _is_due(self, now: datetime) -> bool:
        state, terms = self._state, self._state.terms
        full = len(state.lines) >= terms.requests or sum(line.size for line in state.lines) >= terms.bytes
        return full or self._calm >= CALM or self._latest() <= now

    def _latest(self) -> datetime:
        """When something has to be sent, whether or not more may come."""
        terms = self._state.terms
        age, lead = timedelta(seconds=terms.age), timedelta(seconds=terms.lead)
        return min(min(line.handed + age, line.until - lead) for line in self._state.lines)

    async def _watch(self, seen: int, now: datetime) -> None:
        """Wait for more; when nothing comes for a moment, look whether anything can."""
        terms = self._state.terms
        pause = min(terms.quiet * GROWTH ** min(self._looks, 20), terms.longest_look)
        left = max(self._latest() - now, timedelta(0))
        if await self._until_news(seen, min(timedelta(seconds=pause), left)):
            self._calm = self._looks = 0
            return
        if any(out.returning for out in self._state.out.values()):
            self._calm = 0
            return
        all_wait = self._state.full or await self._all_wait()  # nobody comes to a full lane
        self._calm = self._calm + 1 if all_wait and self._news == seen else 0
        self._looks = 0 if all_wait else self._looks + 1

    async def _all_wait(self) -> bool:
        state = self._state
        batches = sorted({line.batch for line in state.lines if line.batch is not None})
        try:
            request = LaneLook(batches=batches, known=self._requests())
            return (await workflow.execute_activity(steps.look_at_lane, request, **policies.lane(state.terms))).all_wait
        except ActivityError as error:
            workflow.logger.warning("lane %s could not look: %s", workflow.info().workflow_id, error)
            return False

    async def _send(self) -> None:
        """Begin a provider batch of what waits, the nearest deadlines first."""
        state, terms = self._state, self._state.terms
        lines, size = list[LaneLine](), 0
        for line in sorted(state.lines, key=lambda line: line.until):
            if lines and (len(lines) == terms.requests or size + line.size > terms.bytes):
                break
            lines.append(line)
            size += line.size
        names = {line.name for line in lines}
        info = workflow.info()
        intent = f"{info.workflow_id}/{workflow.uuid4().hex[:16]}"
        order = ProviderOrder(lane=info.workflow_id, key=state.key, terms=terms, lines=lines, since=workflow.now())
        state.lines = [line for line in state.lines if line.name not in names]
        state.out[intent] = LaneOut(names=sorted(names), requests=len(lines))
        self._forget_names()
        state.books += LaneBooks(batches=1)
        self._calm = self._looks = 0
        await workflow.start_child_workflow(
            PROVIDER_BATCH, order, id=intent, parent_close_policy=ParentClosePolicy.ABANDON
        )

    def _forget_names(self) -> None:
        """Keep the names of the latest requests only."""
        kept = 0
        for intent, out in reversed(self._state.out.items()):
            kept += len(out.names)
            if kept > NAMES_KEPT and out.names:
                self._known -= set(out.names)
                self._state.out[intent] = out.model_copy(update={"names": []})

    # --- what can be asked and sent

    @workflow.query
    def state(self) -> LaneState:
        return self._state

    @workflow.signal
    def hand_in(self, *sent: object) -> None:
        """A request; the same one again changes nothing."""
        with unanswered():
            self._take([received_loosely(LaneLine, sent)])

    @workflow.signal
    def back(self, *sent: object) -> None:
        """What a provider batch has to tell; the same once more changes nothing."""
        with unanswered():
            self._take_back(received_loosely(LaneBack, sent))

    @workflow.signal
    def change(self, *sent: object) -> None:
        with unanswered():
            change = received(LaneChange, sent)
            self._state.hold, self._state.hold_until = change.hold or None, None
            self._state.held = 0
            self._news += 1

    def _take(self, lines: list[LaneLine]) -> None:
        new = [line for line in lines if line.name not in self._known]
        self._known |= {line.name for line in new}
        self._state.lines += new
        self._news += 1

    def _take_back(self, back: LaneBack) -> None:
        state = self._state
        if (out := state.out.get(back.intent)) is None:
            return
        if back.returning:
            state.out[back.intent] = out.model_copy(update={"returning": True})
            return
        del state.out[back.intent]
        self._known -= set(out.names)
        state.books += back.books
        self._take(back.again)
        if back.pause is None:
            state.held = 0
        elif state.hold is None:
            pause = min(state.terms.pause * 2 ** min(state.held, 20), state.terms.longest_pause)
            state.hold, state.hold_until = back.pause, workflow.now() + timedelta(seconds=pause)
            state.held += 1
