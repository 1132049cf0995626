"""One job: an agent working on one input, as a Temporal workflow.

No path leaves the job running with a failing workflow task: what goes wrong before the loop or in it ends the job as
failed, and what goes wrong in a handler is refused to its sender.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

from workflows import policies, steps
from workflows.carrying import allow, left_open, recorded, state_of
from workflows.contracts import (
    AgentSpec,
    Decided,
    Decision,
    JobEnd,
    JobStart,
    JobState,
    JobView,
    LoadAgent,
    Message,
    Outcome,
    Pending,
    Resolution,
    Steer,
    TranscriptPage,
)
from workflows.desk import Desk
from workflows.failures import FAILED, FAULTS, reason
from workflows.gate import Gate
from workflows.lanes.contracts import LaneReply
from workflows.loop import Loop
from workflows.outcomes import outcome
from workflows.queues import queueing
from workflows.received import NAME_CHARS, received, received_loosely, received_start, unanswered
from workflows.showing import VIEW_BYTES, fitting
from workflows.transcript import Transcript


@workflow.defn(failure_exception_types=FAULTS)
class AgentJob:
    """Runs one agent on one input; its workflow id is the job id."""

    @workflow.init
    def __init__(self, *sent: object) -> None:
        self._loop: Loop | None = None
        self._fault: str | None = None
        try:
            self._start = received_start(sent)
        except ValueError as error:
            self._start = JobStart(agent="")
            self._fault = f"this is no job: {error}"
        carry = self._start.carry
        self._left_open = left_open(carry.calls) if carry and not self._start.resumed else []
        self._state = state_of(self._start)
        self._transcript = Transcript(self._state.earlier, self._state.tail)
        self._gate = Gate(self._state)
        self._desk = Desk(self._state, self._transcript, self._gate)

    @workflow.run
    async def run(self, *sent: object) -> JobEnd:
        if self._fault:
            raise ApplicationError(self._fault, type="BadStart", non_retryable=True)
        try:
            try:
                await self._adopt()
            finally:
                if not self._start.resumed:
                    said = [Message(text=self._start.message, by=self._start.by)] if self._has_message() else []
                    self._transcript.append(*self._left_open, *said)
            end = await self._work()
        except BaseException as error:
            if not isinstance(error, Exception) and not is_cancelled_exception(error):
                raise  # continue-as-new, and the eviction of this workflow from the cache
            end = await self._end_early(error)
        self._desk.webhooks.tell_of_end(end)
        with suppress(asyncio.CancelledError):
            await self._desk.settled()
        await self._desk.settled()  # a job is cancelled once: what that cut short is waited for now
        await self._tell_batch()
        await queueing.leave(self._state)
        return self._end(end)

    def _has_message(self) -> bool:
        """A fork may go on without one; whoever else starts with nothing to say has said nothing."""
        return bool(self._start.message) or self._start.carry is None

    async def _adopt(self) -> None:
        """Record anew what runs recorded that ended long ago: the server will forget them, and this job may last."""
        due, spec = self._desk.adoption_due(), self._state.spec
        if due is None or due > timedelta(0) or spec is None:
            return
        self._transcript.adopt(await recorded(self._transcript.earlier, spec))

    async def _work(self) -> Outcome:
        if self._state.spec is None or not self._start.resumed:
            try:
                spec = await self._load_agent(LoadAgent(agent=self._state.agent))
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                return outcome(self._state, "failed", error=reason(error))
            self._state.spec = spec
            if not self._start.resumed:
                allow(self._state, self._start, spec)
        if refusal := await self._enter_queue():
            return outcome(self._state, "failed", error=refusal)
        self._loop = Loop(self._state, self._state.spec, self._transcript, self._gate, self._desk)
        return await self._loop.run()

    async def _enter_queue(self) -> str | None:
        """Wait for its place; why there is none, if so."""
        try:
            return await queueing.enter(self._state, self._desk)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            return reason(error)

    @staticmethod
    async def _load_agent(request: LoadAgent) -> AgentSpec:
        """What this worker knows of the agent, or else another worker of the queue: they may differ during a deploy."""
        try:
            return await workflow.execute_local_activity(steps.load_agent, request, **policies.LOCAL)
        except FAILED as error:
            if is_cancelled_exception(error):
                raise
            return await workflow.execute_activity(steps.load_agent, request, **policies.SEARCH)

    async def _end_early(self, error: BaseException) -> Outcome:
        if is_cancelled_exception(error):
            return await self._loop.cancelled() if self._loop else outcome(self._state, "cancelled")
        workflow.logger.error("the job's own code failed", exc_info=error)
        text = reason(error) if isinstance(error, ActivityError) else f"{type(error).__name__}: {error}"
        return outcome(self._state, "failed", error=text)

    async def _tell_batch(self) -> None:
        """A batch that parks looks at its jobs seldom; it hears of one that had waited, so that it can end at once."""
        if self._state.batch is None or not self._state.has_waited:
            return
        batch = workflow.get_external_workflow_handle(self._state.batch.batch)
        with suppress(FailureError, asyncio.CancelledError):  # it may have ended, and looks by itself if not
            await batch.signal("job_ended", workflow.info().workflow_id)

    def _end(self, end: Outcome) -> JobEnd:
        # However it ended, no call stays without its result, and nothing that a person said meanwhile is lost.
        steers = [Message(text=steer.text, by=steer.by) for steer in self._state.steers]
        self._transcript.append(*left_open(self._state.calls), *steers)
        self._desk.board.show_end(end.status)
        emptied: dict[str, object] = {"calls": [], "steers": [], "findings": [], "early": {}}
        result = JobEnd(outcome=end, carry=self._desk.carry().model_copy(update=emptied))
        if end.status == "failed":
            raise ApplicationError(end.error or "", result, type="JobFailed", non_retryable=True)
        return result

    # --- what can be asked

    @workflow.query
    def progress(self) -> JobView:
        return self._desk.board.view()

    @workflow.query
    def pending_calls(self, after: str = "") -> list[Pending]:
        """The pending calls behind the call `after`, whole, as many as fit into one answer."""
        return fitting(self._gate.pending(after), VIEW_BYTES)

    @workflow.query
    def pending_call(self, call: str) -> Pending | None:
        """One pending call, whole."""
        return next((each for each in self._gate.pending() if each.call == call), None)

    @workflow.query
    def transcript(self, start: int = 0) -> TranscriptPage:
        return self._transcript.page(max(0, start))

    @workflow.query
    def carry(self) -> JobState:
        """What a reply goes on from when the run ended without a result: terminated, or timed out."""
        return self._desk.rest()

    @workflow.query
    def awaited_turn(self) -> int | None:
        """Which turn this job waits for in a provider batch, if it does."""
        return self._loop.lanes.awaited if self._loop is not None else None

    # --- what can be sent: an update answers, a signal is kept by the server while no worker is up

    @workflow.update
    async def decide(self, *sent: object) -> Decided:
        return await self._desk.decide(received(Decision, sent))

    @decide.validator
    def _check_decision(self, *sent: object) -> None:
        self._gate.check(received(Decision, sent))

    @workflow.signal(name="decide")
    async def decide_by_signal(self, *sent: object) -> None:
        with unanswered():
            await self._desk.decide_or_keep(received(Decision, sent))

    @workflow.update
    async def resolve(self, *sent: object) -> Decided:
        return self._desk.resolve(received(Resolution, sent))

    @resolve.validator
    def _check_resolution(self, *sent: object) -> None:
        self._gate.check_resolution(received(Resolution, sent))

    @workflow.signal(name="resolve")
    def resolve_by_signal(self, *sent: object) -> None:
        with unanswered():
            self._desk.resolve(received(Resolution, sent))

    @workflow.signal
    def steer(self, *sent: object) -> None:
        with unanswered():
            self._desk.steer(received(Steer, sent))

    @workflow.signal
    def lane_reply(self, *sent: object) -> None:
        with unanswered():
            reply = received_loosely(LaneReply, sent)
            if self._loop is not None:
                self._loop.lanes.take(reply)

    @workflow.signal
    def begin(self, *refusal: object) -> None:
        """The job's queue has a place for it, or says why not."""
        if (place := self._state.queue) is not None and not place.begun:
            place.refusal = str(refusal[0]) if refusal else None
            place.begun = not refusal

    @workflow.signal
    def stop(self, *by: object) -> None:
        self._state.stop_by = _name(by)
        self._state.paused = False
        self._desk.note("stopped", by=_name(by))
        self._desk.show()

    @workflow.signal
    def cancelled_by(self, *by: object) -> None:
        """Who cancels this job; the cancellation itself comes by Temporal's own way, right behind."""
        self._desk.note("cancelled", by=_name(by))

    @workflow.signal
    def pause(self, *by: object) -> None:
        self._state.paused = True
        self._desk.note("paused", by=_name(by))
        self._desk.show()

    @workflow.signal
    def resume(self, *by: object) -> None:
        self._state.paused = False
        self._desk.note("resumed", by=_name(by))
        self._desk.show()


def _name(by: Sequence[object]) -> str:
    return by[0][:NAME_CHARS] if by and isinstance(by[0], str) else "a person"
