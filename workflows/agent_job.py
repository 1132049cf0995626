"""One job: an agent working on one input, as a Temporal workflow.

No path leaves the job running with a failing workflow task: what goes wrong before the loop or in it ends the job as
failed, and what goes wrong in a handler is refused to its sender.
"""

from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from workflows import policies, steps
from workflows.contracts import (
    Decided,
    JobEnd,
    JobStart,
    JobState,
    JobView,
    LoadAgent,
    Message,
    Outcome,
    Result,
    Spent,
    Steer,
    TranscriptPage,
)
from workflows.desk import Desk
from workflows.gate import Gate, parse_decision, parse_resolution, refusal
from workflows.loop import Loop, interrupted, reason
from workflows.outcomes import outcome
from workflows.transcript import Transcript

M = TypeVar("M", bound=BaseModel)
NOTHING = RawValue(Payload())
"""Stands for an input that was not given: a start from outside must not be able to wedge a task."""


@workflow.defn
class AgentJob:
    """Runs one agent on one input; its workflow id is the job id."""

    @workflow.init
    def __init__(self, start: RawValue = NOTHING) -> None:
        self._loop: Loop | None = None
        self._fault: str | None = None
        try:
            self._start = _read_start(start)
        except (ValueError, TypeError, RuntimeError) as error:
            self._start = JobStart(agent="")
            self._fault = f"this is no job: {error}"
        self._left_open = _left_open(self._start)
        self._state = _state(self._start)
        self._transcript = Transcript(self._state.earlier)
        self._gate = Gate(self._state)
        self._desk = Desk(self._state, self._transcript, self._gate)

    @workflow.run
    async def run(self, start: RawValue = NOTHING) -> JobEnd:
        if self._fault:
            raise ApplicationError(self._fault, type="BadStart", non_retryable=True)
        if not self._start.resumed:
            self._transcript.append(*self._left_open, Message(text=self._start.message, by=self._start.by))
        try:
            end = await self._work()
        except BaseException as error:
            if not isinstance(error, Exception) and not is_cancelled_exception(error):
                raise  # continue-as-new, and the eviction of this workflow from the cache
            end = await self._end_early(error)
        return self._end(end)

    async def _work(self) -> Outcome:
        if self._state.spec is None or not self._start.resumed:
            request = LoadAgent(agent=self._state.agent)
            try:
                spec = await workflow.execute_local_activity(steps.load_agent, request, **policies.LOCAL)
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                return outcome(self._state, "failed", error=reason(error))
            self._state.spec = spec
            if not self._start.resumed:
                self._state.limits = spec.limits.changed(self._start.limits)
                self._state.total = spec.total.changed(self._start.total) if spec.total else self._start.total
        self._loop = Loop(self._state, self._state.spec, self._transcript, self._gate, self._desk)
        return await self._loop.run()

    async def _end_early(self, error: BaseException) -> Outcome:
        if is_cancelled_exception(error):
            return await self._loop.cancelled() if self._loop else outcome(self._state, "cancelled")
        workflow.logger.error("the job's own code failed", exc_info=error)
        return outcome(self._state, "failed", error=f"{type(error).__name__}: {error}")

    def _end(self, end: Outcome) -> JobEnd:
        self._desk.show_end(end.status)
        info = workflow.info()
        self._state.earlier = self._transcript.segments(info.run_id)
        self._state.entries = len(self._transcript)
        result = JobEnd(outcome=end, carry=self._state.model_copy(update={"calls": [], "steers": [], "findings": []}))
        if end.status == "failed":
            raise ApplicationError(end.error or "", result, type="JobFailed", non_retryable=True)
        return result

    # --- what can be asked

    @workflow.query
    def progress(self) -> JobView:
        return self._desk.view()

    @workflow.query
    def transcript(self, start: int = 0) -> TranscriptPage:
        return self._transcript.page(max(0, start))

    @workflow.query
    def carry(self) -> JobState:
        """What a reply goes on from when the run ended without a result: terminated, or timed out."""
        return self._desk.carry()

    # --- what can be sent: an update answers, a signal is kept by the server while no worker is up

    @workflow.update
    async def decide(self, decision: JsonValue = None) -> Decided:
        return await self._desk.decide(parse_decision(decision))

    @decide.validator
    def _check_decision(self, decision: JsonValue = None) -> None:
        self._gate.check(parse_decision(decision))

    @workflow.signal(name="decide")
    async def decide_by_signal(self, decision: JsonValue = None) -> None:
        try:
            await self._desk.decide_or_keep(parse_decision(decision))
        except ApplicationError as error:
            workflow.logger.warning("signal without effect: %s", error.message)

    @workflow.update
    async def resolve(self, resolution: JsonValue = None) -> Decided:
        return self._desk.resolve(parse_resolution(resolution))

    @resolve.validator
    def _check_resolution(self, resolution: JsonValue = None) -> None:
        self._gate.check_resolution(parse_resolution(resolution))

    @workflow.signal(name="resolve")
    def resolve_by_signal(self, resolution: JsonValue = None) -> None:
        try:
            self._desk.resolve(parse_resolution(resolution))
        except ApplicationError as error:
            workflow.logger.warning("signal without effect: %s", error.message)

    @workflow.signal
    def steer(self, steer: JsonValue = None) -> None:
        try:
            self._desk.steer(_parse(Steer, steer))
        except ApplicationError as error:
            workflow.logger.warning("signal without effect: %s", error.message)

    @workflow.signal
    def stop(self, by: JsonValue = None) -> None:
        self._state.stop_by = str(by or "a person")
        self._state.paused = False

    @workflow.signal
    def pause(self) -> None:
        self._state.paused = True

    @workflow.signal
    def resume(self) -> None:
        self._state.paused = False


def _read_start(start: RawValue) -> JobStart:
    if start is NOTHING:
        raise ValueError("it was started without an input; start jobs through surefoot")
    return workflow.payload_converter().from_payload(start.payload, JobStart)


def _state(start: JobStart) -> JobState:
    """A fresh state, or the carried one; a new message starts a new allowance."""
    if start.carry is None:
        return JobState(agent=start.agent, model=start.model)
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
            "closing": None,
            "paused": False,
            "stop_by": None,
        }
    )


def _left_open(start: JobStart) -> list[Result]:
    """Results for calls that an ended run left without one, so that every provider takes the transcript."""
    if start.resumed or start.carry is None:
        return []
    return [call.result or interrupted(call) for call in start.carry.calls if not call.told]


def _parse(kind: type[M], raw: object) -> M:
    try:
        return kind.model_validate(raw, strict=True)
    except ValidationError as error:
        raise refusal("NotAllowed", f"this is no {kind.__name__.lower()}: {error}") from None
