"""The loop: ask the model, run what it asked for, until it answers or has to close.

Everything that must survive continue-as-new is in `JobState`, so the loop can be left wherever nothing is in flight and
entered again.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import failures, outcomes, policies, progress, steps, words
from workflows.calls import ODD_TURNS, Calls
from workflows.compaction import Compaction
from workflows.contracts import (
    AgentSpec,
    CallModel,
    JobState,
    Message,
    ModelReply,
    Note,
    Outcome,
    Result,
    Status,
    Turn,
    Usage,
)
from workflows.desk import Desk
from workflows.gate import Gate
from workflows.lanes.asking import LaneAsking, LaneFailed
from workflows.limits import Allowance
from workflows.transcript import Transcript

PAUSES = 10
"""How often in a row a model may pause without an answer."""

FAILED_STOPS = ("refusal", "content_filter", "unknown")
"""Ends of a turn that are no success: what it asks for is not run, what it says is no answer."""


class ModelFailed(Exception):
    """The model can't be asked: its error will not go away by trying again."""


class Loop:
    """One job's loop over its state."""

    def __init__(self, state: JobState, spec: AgentSpec, transcript: Transcript, gate: Gate, desk: Desk) -> None:
        self.state, self.spec, self.transcript, self.gate, self.desk = state, spec, transcript, gate, desk
        self.allowance = Allowance(state, workflow.now())
        self.calls = Calls(state, spec, transcript, gate, desk, self.allowance)
        self.compaction = Compaction(state, spec, transcript, desk, self.allowance, self.calls.flight)
        self.lanes = LaneAsking(state, spec, desk, self.allowance, self.calls.flight)

    async def run(self) -> Outcome:
        end = await self._rounds()
        self.allowance.tick(workflow.now())
        return end

    async def _rounds(self) -> Outcome:
        while True:
            if self.state.calls:
                await self.calls.run()
            await self._between_rounds()
            if reason := self._reason_to_close():
                return await self._close(reason)
            if self.compaction.is_due:
                await self.compaction.sum_up(self._request())
                continue
            try:
                reply = await self._call_model()
            except ModelFailed as error:
                return outcomes.outcome(self.state, "model_failure", error=str(error))
            if reply is None or reply.too_long:
                continue
            if reply.turn.calls and reply.turn.stop not in FAILED_STOPS:
                self.calls.open(reply)
            elif end := self._check_answer(reply):
                return end

    # --- between two steps

    async def _between_rounds(self) -> None:
        self._take_steers()
        await self.calls.pace.hold()
        self._take_steers()

    def _take_steers(self) -> None:
        for steer in self.state.steers:
            self.transcript.append(Message(text=steer.text, by=steer.by))
        self.state.steers = []

    def _reason_to_close(self) -> Status | None:
        if self.state.stop_by is not None:
            return "cancelled"
        if self.state.closing is not None:
            return self.state.closing
        return self.allowance.reached(workflow.now()) or (
            "no_progress" if progress.stalled(self.state.prints) else None
        )

    # --- asking the model

    def _request(self, closing: Status | None = None) -> CallModel:
        """The next model call, and with it what no call was handed yet."""
        base, new = self.transcript.hand_over()
        tail = self.transcript.hand_over_tail()
        return CallModel(
            agent=self.state.agent,
            turn=self.state.turns + 1,
            model=self.state.model,
            earlier=self.transcript.earlier,
            base=base,
            new=new,
            length=len(self.transcript.own),
            closing=closing,
            **({"tail": tail} if tail else {}),
            **self.compaction.terms(closing),
        )

    async def _call_model(self, closing: Status | None = None) -> ModelReply | None:
        """The model's reply; None if the job was stopped while it waited for a provider batch."""
        request = self._request(closing)
        self.state.turns += 1
        reply = await self._from_lane(request) if self.lanes.is_open else None
        if reply is None and closing is None and self.lanes.was_stopped:
            return None
        reply = reply or await self._at_once(request)
        if reply.instead_of:
            outcomes.note_stand_in(self.state, reply.turn.model, reply.instead_of)
        lost = reply.failed_attempts
        self.allowance.spend(reply.turn.usage + Usage(failed_attempts=lost, unmeasured=lost))
        self.compaction.take(reply)
        if reply.too_long:
            self.state.turns -= 1
        return reply

    async def _from_lane(self, request: CallModel) -> ModelReply | None:
        try:
            return await self.lanes.ask(request)
        except LaneFailed as error:
            raise ModelFailed(str(error)) from None

    async def _at_once(self, request: CallModel) -> ModelReply:
        flex = {"flex": True} if self.state.lane == "flex" else {}
        try:
            handle = workflow.start_activity(
                steps.call_model, request.model_copy(update=flex), **policies.asking(self.spec)
            )
            reply: ModelReply = await self.calls.flight.land(handle)
        except ActivityError as error:
            lost = failures.attempts(error)
            self.allowance.spend(Usage(failed_attempts=lost, unmeasured=lost))
            raise ModelFailed(failures.reason(error)) from None
        return reply

    def _check_answer(self, reply: ModelReply) -> Outcome | None:
        """The outcome of a turn without calls, or None when the model is asked again."""
        turn, state = reply.turn, self.state
        self._append_without_running(turn, words.TURN_FAILED.format(stop=turn.stop))
        if turn.stop == "pause":
            return self._odd(PAUSES, f"the model paused {PAUSES} times in a row without an answer")
        if turn.stop in FAILED_STOPS:
            said = turn.stop_detail or turn.text or "no reason was given"
            return self._fail(f"the model ended with {turn.stop}: {said}", turn.text)
        if turn.stop == "max_tokens":
            return self._odd(ODD_TURNS, "the answer was cut off at the output limit", turn.text, words.TOO_LONG_ANSWER)
        if not turn.text.strip():
            return self._odd(ODD_TURNS - 1, "the model's answer was empty", None, words.EMPTY_ANSWER)
        state.odd_turns = 0
        if reply.output_problem is not None:
            return self._bad_output(reply.output_problem, turn.text)
        if reply.citation_problem is not None and not state.asked_to_cite:
            state.asked_to_cite = True
            self.transcript.append(Note(text=words.BAD_CITATION.format(problem=reply.citation_problem)))
            return None
        if state.steers:
            return None
        return outcomes.outcome(state, "complete", answer=turn.text, output=reply.output, reply=reply)

    def _odd(self, allowed: int, why: str, text: str | None = None, note: str | None = None) -> Outcome | None:
        self.state.odd_turns += 1
        if self.state.odd_turns > allowed:
            return self._fail(why, text)
        if note:
            self.transcript.append(Note(text=note))
        return None

    def _fail(self, why: str, text: str | None) -> Outcome:
        return outcomes.outcome(self.state, "model_failure", answer=text or None, error=why)

    def _bad_output(self, problem: str, text: str) -> Outcome | None:
        self.state.bad_outputs += 1
        if self.state.bad_outputs > self.spec.output_retries:
            return outcomes.outcome(self.state, "invalid_output", answer=text, error=problem)
        self.transcript.append(Note(text=words.BAD_OUTPUT.format(problem=problem)))
        return None

    async def _close(self, status: Status) -> Outcome:
        """The last model call: tools declared but forbidden. Without it, or when it fails, the findings are the end."""
        if status == "tool_failure":
            why = self.state.closing_why or "an unknown outcome was given up"
            return outcomes.outcome(self.state, status, error=why)
        if status == "model_failure":
            return outcomes.outcome(self.state, status, error="the model's calls were cut off at the output limit")
        reply = await self._closing_answer(status) if self.spec.closing == "answer" else None
        return outcomes.outcome(self.state, status, answer=reply.turn.text if reply else None, reply=reply)

    async def _closing_answer(self, status: Status) -> ModelReply | None:
        try:
            reply = await self._call_model(closing=status)
        except ModelFailed:
            return None
        if reply is None:
            return None
        turn = reply.turn
        self._append_without_running(turn, words.LIMIT_WORDS[status])
        if turn.calls or turn.stop in FAILED_STOPS:
            return None  # what was said is the lead to a call, or no answer
        return reply if turn.text else None

    def _append_without_running(self, turn: Turn, why: str) -> None:
        if turn.parts:
            self.transcript.append(turn)
        text = words.NOT_EXECUTED.format(why=why)
        for call in turn.calls:
            self.transcript.append(Result(call=call.id, tool=call.tool, content=text, status="not_executed"))

    async def cancelled(self) -> Outcome:
        """End now, with a result for every call."""
        await self.calls.cancelled()
        return outcomes.outcome(self.state, "cancelled")
