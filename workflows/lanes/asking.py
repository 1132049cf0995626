"""Asks a job's model by way of a lane: hands the call in, and waits for the answer or for the time to ask at once.

The first answer wins. Both are charged: one that comes when its turn is given up is paid for all the same.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import failures, policies, steps
from workflows.contracts import AgentSpec, Batched, CallModel, JobState, ModelReply
from workflows.desk import Desk
from workflows.flight import Flight
from workflows.lanes.contracts import HandedIn, HandIn, LaneReply
from workflows.limits import Allowance

PATIENCE = timedelta(hours=26)
"""How long a provider batch is waited for without a deadline: providers take a day, and collecting its time."""

LONGEST_PAUSE = timedelta(minutes=10)
"""How long a job stands outside of a full lane at most until it tries again."""

LANES_TRIED = 10
"""How often a call goes to another lane, since the key or the agent changed: in a deploy workers may have both."""

LATE_KEPT = 50
TELLS_ITS_BATCH = "fallback-tells-batch"


class LaneFailed(Exception):
    """The provider refused the request for good, and asking at once would be refused as well."""


class LaneAsking:
    """The lane of one job: `state.lane` and `state.batched`."""

    def __init__(self, state: JobState, spec: AgentSpec, desk: Desk, allowance: Allowance, flight: Flight) -> None:
        self._state, self._spec, self._desk = state, spec, desk
        self._allowance, self._flight = allowance, flight
        self._reply: LaneReply | None = None

    @property
    def is_open(self) -> bool:
        state = self._state
        in_time = state.lane_until is None or workflow.now() < state.lane_until
        return state.lane in ("batch", "auto") and state.stop_by is None and in_time

    @property
    def was_stopped(self) -> bool:
        """Whether the job was stopped where it would have waited, so that it has to close."""
        return self._state.lane in ("batch", "auto") and self._state.stop_by is not None

    @property
    def awaited(self) -> int | None:
        """The turn that is waited for and has no answer yet."""
        batched = self._state.batched
        return batched.turn if batched is not None and self._reply is None else None

    async def ask(self, request: CallModel) -> ModelReply | None:
        """The reply, or None if the model has to be asked at once. Raises `LaneFailed`."""
        now = workflow.now()
        until = min(now + PATIENCE, self._state.lane_until or now + PATIENCE)
        self._state.batched = Batched(turn=request.turn, since=now, until=until)
        self._reply = None
        try:
            for _ in range(LANES_TRIED):
                if await self._hand_in(request):
                    await self._wait()
                if self._reply is None or not self._reply.again:
                    break
                self._reply = None
        except asyncio.CancelledError:
            self._end_of_wait()
            raise
        reply = self._end_of_wait()
        if reply is None or (reply.reply is None and not reply.final):
            return None
        if reply.reply is None:
            raise LaneFailed(reply.text or "the provider refused the request")
        return reply.reply

    async def _hand_in(self, request: CallModel) -> bool:
        state = self._state
        batch = {"batch": state.batch.batch} if state.batch is not None else {}
        assert state.batched is not None
        order = HandIn(request=request, lane=state.lane, until=state.batched.until, **batch)
        try:
            tries = 0
            while (handed := await self._handed_in(order)).full_for is not None:
                if not await self._room_may_be(handed.full_for * 2 ** min(tries, 10)):
                    return self._reply is not None
                tries += 1
        except ActivityError as error:
            workflow.logger.warning("turn %d was not handed in: %s", request.turn, failures.reason(error))
            return False
        if handed.lane != "batch" and state.lane == "auto":
            state.lane = handed.lane
        return handed.lane == "batch"

    async def _handed_in(self, order: HandIn) -> HandedIn:
        handle = workflow.start_activity(steps.hand_in, order, **policies.model(self._spec))
        handed: HandedIn = await self._flight.land(handle)
        return handed

    async def _room_may_be(self, seconds: float) -> bool:
        """Wait outside of a full lane; whether to try again. The clock stands still, the job's place is kept.

        An answer may come all the same: an attempt that died may have handed the call in.
        """
        batched = self._state.batched
        assert batched is not None
        self._state.batched = batched.model_copy(update={"outside": True})
        try:
            await self._stand_still(min(timedelta(seconds=seconds), LONGEST_PAUSE, batched.until - workflow.now()))
        finally:
            self._state.batched = batched
        return not self._is_over() and workflow.now() < batched.until

    def _is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._reply is not None or self._state.stop_by is not None

    async def _wait(self) -> None:
        """Until there is an answer, or the time is over, or somebody stops the job. The clock stands still."""
        batched = self._state.batched
        assert batched is not None
        self._desk.show()
        if not await self._stand_still(batched.until - workflow.now()):
            workflow.logger.info("turn %d was not answered in its provider batch in time", batched.turn)

    async def _stand_still(self, most: timedelta) -> bool:
        """Wait for so long, while the clock stands still; whether there is nothing to wait for any more."""
        self._allowance.stop_clock(workflow.now())
        try:
            await workflow.wait_condition(self._is_over, timeout=max(most, timedelta(0)))
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self._allowance.start_clock(workflow.now())
            raise
        # Not in a `finally`: when a worker gives a job up its coroutines are closed where no workflow has a clock.
        self._allowance.start_clock(workflow.now())
        return self._is_over()

    def _end_of_wait(self) -> LaneReply | None:
        """What came, if anything; what comes from now on is late."""
        batched, reply = self._state.batched, self._reply
        assert batched is not None
        self._state.batched_seconds += (workflow.now() - batched.since).total_seconds()
        if reply is None:
            self._state.late = [*self._state.late, batched.turn][-LATE_KEPT:]
            # No provider batch wakes the batch of a job that goes on without it.
            self._state.has_waited |= workflow.patched(TELLS_ITS_BATCH)
        self._state.batched = self._reply = None
        self._desk.show()
        return reply

    def take(self, reply: LaneReply) -> None:
        """An answer from a lane; the same one again changes nothing."""
        if reply.turn == self.awaited:
            self._reply = reply
        elif reply.turn in self._state.late:
            self._state.late = [turn for turn in self._state.late if turn != reply.turn]
            if reply.reply is not None:
                self._allowance.spend(reply.reply.turn.usage)
