"""The loop: ask the model, run what it asked for, until it answers or has to close.

Everything that must survive continue-as-new is in `JobState`, so the loop can be left wherever nothing is in flight and
entered again; every activity goes through `_activity`, so that a cancelled job can see what was still running.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from pydantic_core import to_json
from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import failures, outcomes, policies, progress, steps, words
from workflows.contracts import (
    AgentSpec,
    CallModel,
    CallState,
    DescribeCall,
    JobState,
    Message,
    ModelReply,
    Note,
    Outcome,
    Result,
    ResultStatus,
    RunTool,
    Status,
    ToolReply,
    Turn,
    Usage,
)
from workflows.desk import Desk
from workflows.gate import Gate, with_edit
from workflows.limits import Allowance
from workflows.transcript import Transcript

T = TypeVar("T")
CANCEL_GRACE = timedelta(seconds=5)
PAUSES = 10
TASK_BYTES = 1_500_000
"""Most bytes of arguments handed on side by side: the server ends a job whose workflow task sends over 4 MB."""

ODD_TURNS = 2
FAILED_STOPS = ("refusal", "content_filter", "unknown")
"""Ends of a turn that are no success: what it asks for is not run, what it says is no answer."""


class ModelFailed(Exception):
    """The model can't be asked: its error will not go away by trying again."""


class Loop:
    """One job's loop over its state."""

    def __init__(self, state: JobState, spec: AgentSpec, transcript: Transcript, gate: Gate, desk: Desk) -> None:
        self.state, self.spec, self.transcript, self.gate, self.desk = state, spec, transcript, gate, desk
        self.allowance = Allowance(state, workflow.now())
        self._in_flight: dict[workflow.ActivityHandle[ToolReply], CallState | None] = {}
        # No set: in what order tasks are cancelled must be the same in a replay.
        self._previews: list[asyncio.Task[None]] = []
        self._previewed_bytes = 0

    async def run(self) -> Outcome:
        end = await self._rounds()
        self.allowance.tick(workflow.now())
        return end

    async def _rounds(self) -> Outcome:
        while True:
            if self.state.calls:
                await self._run_calls()
            await self._between_rounds()
            if reason := self._reason_to_close():
                return await self._close(reason)
            try:
                reply = await self._call_model()
            except ModelFailed as error:
                return outcomes.outcome(self.state, "model_failure", error=str(error))
            if reply.turn.calls and reply.turn.stop not in FAILED_STOPS:
                self._open(reply)
            elif end := self._check_answer(reply):
                return end

    # --- between two steps

    async def _between_rounds(self) -> None:
        self._take_steers()
        await self._hold()
        self._take_steers()

    def _take_steers(self) -> None:
        for steer in self.state.steers:
            self.transcript.append(Message(text=steer.text, by=steer.by))
        self.state.steers = []

    async def _hold(self) -> None:
        """Wait while the job is paused, and go on in a new run when this one's history is long."""
        if self.state.paused and not self.state.stop_by:
            await self._wait(lambda: not self.state.paused or self.state.stop_by is not None)
        elif self._may_move():
            self.allowance.tick(workflow.now())
            await self.desk.continue_as_new()

    async def _wait(self, ready: Callable[[], bool]) -> None:
        """Wait for people: the clock stands still, and the history may start anew."""
        self.allowance.stop_clock(workflow.now())
        self.desk.show()
        while not ready():
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: ready() or self._may_move(), timeout=self.desk.adoption_due())
            if not ready() and self._may_move():
                await self.desk.continue_as_new()
        self.allowance.start_clock(workflow.now())
        self.desk.show()

    def _may_move(self) -> bool:
        return self.desk.history_is_long() and not self._in_flight and not self._previews

    def _reason_to_close(self) -> Status | None:
        if self.state.stop_by is not None:
            return "cancelled"
        if self.state.closing is not None:
            return self.state.closing
        return self.allowance.reached(workflow.now()) or (
            "no_progress" if progress.stalled(self.state.prints) else None
        )

    # --- asking the model

    async def _call_model(self, closing: Status | None = None) -> ModelReply:
        self.state.turns += 1
        base, new = self.transcript.hand_over()
        request = CallModel(
            agent=self.state.agent,
            turn=self.state.turns,
            model=self.state.model,
            earlier=self.transcript.earlier,
            base=base,
            new=new,
            length=len(self.transcript.own),
            closing=closing,
        )
        try:
            reply = await self._activity(
                workflow.start_activity(steps.call_model, request, **policies.model(self.spec))
            )
        except ActivityError as error:
            lost = failures.attempts(error)
            self.allowance.spend(Usage(failed_attempts=lost, unmeasured=lost))
            raise ModelFailed(failures.reason(error)) from None
        lost = reply.failed_attempts
        self.allowance.spend(reply.turn.usage + Usage(failed_attempts=lost, unmeasured=lost))
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
        if state.steers:
            return None
        return outcomes.outcome(state, "complete", answer=turn.text, output=reply.output)

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
            return outcomes.outcome(self.state, status, error="an unknown outcome was given up")
        if status == "model_failure":
            return outcomes.outcome(self.state, status, error="the model's calls were cut off at the output limit")
        answer = await self._closing_answer(status) if self.spec.closing == "answer" else None
        return outcomes.outcome(self.state, status, answer=answer)

    async def _closing_answer(self, status: Status) -> str | None:
        try:
            turn = (await self._call_model(closing=status)).turn
        except ModelFailed:
            return None
        self._append_without_running(turn, words.LIMIT_WORDS[status])
        if turn.calls or turn.stop in FAILED_STOPS:
            return None  # what was said is the lead to a call, or no answer
        return turn.text or None

    def _append_without_running(self, turn: Turn, why: str) -> None:
        if turn.parts:
            self.transcript.append(turn)
        text = words.NOT_EXECUTED.format(why=why)
        for call in turn.calls:
            self.transcript.append(Result(call=call.id, tool=call.tool, content=text, status="not_executed"))

    # --- running the calls of a turn

    def _open(self, reply: ModelReply) -> None:
        self.transcript.append(reply.turn)
        plans = {plan.call: plan for plan in reply.plans}
        self.state.turn_text = outcomes.cut(reply.turn.text, 2000)
        self.state.calls = [
            CallState(call=call, plan=plans[call.id], arguments=call.arguments or {}, digest=plans[call.id].digest)
            for call in reply.turn.calls
        ]
        if self.allowance.rounds_used_up():
            self._leave_rest("hit_iteration_cap")
        elif reply.turn.stop == "max_tokens":
            self._refuse_cut_off()
        else:
            self.state.odd_turns = 0
            self._admit()

    def _refuse_cut_off(self) -> None:
        self.state.odd_turns += 1
        for call in self.state.calls:
            self._finish(call, "not_executed", words.CUT_OFF)
        if self.state.odd_turns > ODD_TURNS:
            self.state.closing = "model_failure"

    async def _run_calls(self) -> None:
        """Bring every call of the open turn to its result, and the results into the transcript in the calls' order."""
        self._tell()
        for call in self.state.calls:
            if call.phase == "asking":
                self._put_to_people(call)
        for group in self._groups():
            await self._hold()
            if why := self._stopped():
                await self._give_up_calls(why)
                break
            if (len(group) == 1 and group[0].plan.verdict == "ask") or group[0].plan.kind == "write":
                await self._gated(group[0])
            else:
                await self._together(group)
            self._tell()
        if why := self._stopped():
            await self._give_up_calls(why)
        await self._end_previews()
        self._tell()
        self.state.prints = [*self.state.prints, progress.fingerprint(self.state.calls)][-progress.WINDOW :]
        self.state.calls = []
        self._previewed_bytes = 0
        if not self.allowance.rounds_used_up():  # else this was not one more: none of its calls ran
            self.allowance.finish_round()
        self.desk.turn_ended()
        self.desk.show()

    def _admit(self) -> None:
        """Say of every call of a new turn whether it may run, must be asked for, or is refused."""
        left = self.allowance.calls_left()
        for call in self.state.calls:
            if call.plan.kind == "invalid":
                self._finish(call, "error", call.plan.problem or "this call can't be made")
            elif call.plan.verdict == "deny":
                self._finish(call, "denied", call.plan.problem or "Denied by policy.")
            elif call.digest in self.state.denied:
                self._finish(call, "denied", words.DENIED_BEFORE)
            elif left is not None and left <= 0:
                self._leave(call, "hit_tool_call_cap")
                self.state.closing = "hit_tool_call_cap"
            else:
                left = None if left is None else left - 1
                if call.plan.verdict == "ask":
                    self._ask(call)

    def _ask(self, call: CallState) -> None:
        call.phase, call.asked_at = "asking", workflow.now()

    def _put_to_people(self, call: CallState) -> None:
        """Use the decision that came before its call did, if one came; ask the tool what it would do."""
        if early := self.state.early.get(call.call.id):
            self.desk.decide_early(early)
        if call.plan.has_preview and call.preview is None:
            self._previewed_bytes += _size(call)
            if self._previewed_bytes > TASK_BYTES:
                call.preview = "(no preview: the arguments of this turn are too large)"
                return
            task = asyncio.create_task(self._preview(call))
            self._previews.append(task)
            task.add_done_callback(self._preview_ended)

    def _preview_ended(self, task: asyncio.Task[None]) -> None:
        self._previews.remove(task)
        if not self._previews:  # the lists get them together: each time they are written costs history
            self.desk.show()

    async def _end_previews(self) -> None:
        """Nobody needs a preview once its call is decided; one that hangs must not hold up the job."""
        for task in self._previews:
            task.cancel()
        await workflow.wait_condition(lambda: not self._previews)

    async def _preview(self, call: CallState) -> None:
        request = DescribeCall(agent=self.state.agent, call=call.call.id, tool=call.call.tool, arguments=call.arguments)
        try:
            described = await workflow.execute_activity(steps.describe_call, request, **policies.preview(self.spec))
            call.preview = described.preview or ""
        except ActivityError as error:
            if is_cancelled_exception(error):
                return
            call.preview = f"(no preview: {failures.reason(error)})"

    def _groups(self) -> Iterator[list[CallState]]:
        """Calls without a result, in order: reads that stand next to each other together, all others alone."""
        group: list[CallState] = []
        room = TASK_BYTES
        for call in [call for call in self.state.calls if call.phase != "done"]:
            together, size = call.plan.kind != "write" and call.plan.verdict == "allow", _size(call)
            if group and (not together or size > room):
                yield group
                group, room = [], TASK_BYTES
            if together:
                group.append(call)
                room -= size
            else:
                yield [call]
        if group:
            yield group

    def _stopped(self) -> Status | None:
        if self.state.stop_by is not None:
            return "cancelled"
        if self.state.closing == "tool_failure":
            return "tool_failure"
        return self.allowance.reached(workflow.now())

    async def _give_up_calls(self, why: Status) -> None:
        """A limit is no reason not to ask what became of a write that has begun; a person's stop is."""
        for call in self.state.calls:
            if call.phase == "unknown":
                await self._wait_for_word(call)
        self._leave_rest(why)

    async def _wait_for_word(self, call: CallState) -> None:
        await self._wait(lambda: call.phase not in ("asking", "unknown") or self.state.stop_by is not None)

    def _leave_rest(self, why: Status) -> None:
        for call in (call for call in self.state.calls if call.phase != "done"):
            if call.phase == "unknown":
                self._finish(call, "unknown", words.INTERRUPTED)
            else:
                self._leave(call, why)
        if self.state.closing is None and why != "cancelled":
            self.state.closing = why

    def _leave(self, call: CallState, why: Status) -> None:
        text = words.NOT_EXECUTED.format(why=words.LIMIT_WORDS.get(why, "an earlier call ended the job"))
        self._finish(call, "not_executed", text)
        outcomes.note_not_done(self.state, call, text)

    async def _together(self, group: list[CallState]) -> None:
        reads = [self._execute(call) for call in group if call.plan.kind != "pure"]
        if reads:
            await asyncio.gather(*reads)
        # One after the other: parallel local activities may replay in another order.
        for call in group:
            if call.plan.kind == "pure":
                await self._execute(call)
        for call in group:
            await self._gated(call)

    async def _gated(self, call: CallState) -> None:
        """Run a call that needs a person, as often as that person wants; return early when the job is stopped."""
        while call.phase != "done" and self._stopped() is None:
            if call.phase in ("asking", "unknown"):
                await self._wait_for_word(call)
            else:
                await self._hold()
                await self._execute(call)
        decided = self.state.decided.get(call.call.id)
        if decided is not None and decided.choice == "give_up":
            self.state.closing = "tool_failure"

    async def _execute(self, call: CallState) -> None:
        call.phase = "running"
        request = RunTool(
            agent=self.state.agent,
            call=call.call.id,
            tool=call.call.tool,
            arguments=call.arguments,
            approved=call.approved,
        )
        try:
            if call.plan.kind == "pure":
                local = policies.pure(call.plan)
                reply = await self._activity(workflow.start_local_activity(steps.compute_tool, request, **local), call)
            else:
                options = policies.tool(self.spec, call.plan)
                reply = await self._activity(workflow.start_activity(steps.run_tool, request, **options), call)
        except ActivityError as error:
            reply = self._lost(call, error)
        self._take_reply(call, reply)

    @staticmethod
    def _lost(call: CallState, error: ActivityError) -> ToolReply:
        """What a call came to whose attempts ended without a reply."""
        if call.plan.kind == "write" and failures.may_have_run(error):
            return ToolReply(status="unknown")
        return ToolReply(status="error", content=f"The tool failed: {failures.reason(error)}")

    def _take_reply(self, call: CallState, reply: ToolReply) -> None:
        if reply.status == "ask":
            call.plan = call.plan.model_copy(update={"verdict": "ask"})
            call.approved = False
            self._ask(call)
            self._put_to_people(call)
            return
        if reply.status == "denied":
            self._finish(call, "denied", words.DENIED_BY_POLICY.format(why=reply.content))
            return
        self.allowance.spend(Usage(tool_calls=1))
        if reply.status == "unknown":
            call.phase, call.asked_at = "unknown", workflow.now()
            return
        if reply.status == "ok":
            self.gate.performed(call)
        call.result = Result(
            call=call.call.id,
            tool=call.call.tool,
            content=with_edit(call, reply.content),
            status=reply.status,
            edited=call.edited,
            artifact=reply.artifact,
        )
        call.phase = "done"

    def _finish(self, call: CallState, status: ResultStatus, content: str) -> None:
        call.result = Result(call=call.call.id, tool=call.call.tool, content=content, status=status, edited=call.edited)
        call.phase = "done"

    def _tell(self) -> None:
        """Move the results that are next in order into the transcript."""
        for call in self.state.calls:
            if call.phase != "done":
                return
            if not call.told and call.result is not None:
                self.transcript.append(call.result)
                outcomes.note_result(self.state, call.result)
                call.result_print = hashlib.sha256(call.result.content.encode()).hexdigest()[:32]
                call.told, call.result = True, None

    # --- activities, and being cancelled

    async def _activity(self, handle: "workflow.ActivityHandle[T]", call: CallState | None = None) -> T:
        self._in_flight[handle] = call  # type: ignore[index]
        try:
            # Shielded, so that a cancelled job may still see the end of a write that is under way.
            result = await asyncio.shield(handle)
        except asyncio.CancelledError:
            raise
        except BaseException:
            del self._in_flight[handle]  # type: ignore[arg-type]
            raise
        del self._in_flight[handle]  # type: ignore[arg-type]
        return result

    async def cancelled(self) -> Outcome:
        """End now: give a write under way a moment, then answer every open call."""
        writes = [h for h, call in self._in_flight.items() if call is not None and call.plan.kind == "write"]
        if writes:
            await workflow.wait(writes, timeout=CANCEL_GRACE.total_seconds())
        for handle, call in self._in_flight.items():
            if call is not None and handle.done() and not handle.cancelled() and handle.exception() is None:
                self._take_reply(call, handle.result())
                continue
            handle.cancel()
            if call is None:
                self.allowance.spend(Usage(failed_attempts=1, unmeasured=1))
        await self._end_previews()
        for call in (call for call in self.state.calls if call.phase != "done"):
            call.result, call.phase = interrupted(call), "done"
            if call.result.status == "not_executed":
                outcomes.note_not_done(self.state, call, call.result.content)
        self._tell()
        self.state.calls = []
        return outcomes.outcome(self.state, "cancelled")


def _size(call: CallState) -> int:
    return len(to_json(call.arguments))


def interrupted(call: CallState) -> Result:
    """The result of a call that its job left open: a write that may have begun is told as unknown."""
    doubtful = call.phase == "unknown" or (call.phase == "running" and call.plan.kind == "write")
    return Result(
        call=call.call.id,
        tool=call.call.tool,
        content=words.INTERRUPTED if doubtful else words.CANCELLED_CALL,
        status="unknown" if doubtful else "not_executed",
    )
