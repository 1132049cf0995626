"""Brings the calls of a turn to their results, in the order in which the model made them.

Reads that stand next to each other run together; a write waits for all before it and holds back all behind it. A call's
way is in its `CallState`, so a run may be left and entered again between any two of these steps.
"""

import asyncio
import hashlib
from collections.abc import Iterator

from temporalio import workflow

from workflows import approval, outcomes, progress, words
from workflows.contracts import AgentSpec, CallState, JobState, ModelReply, Status, Usage
from workflows.deadlines import Deadlines
from workflows.desk import Desk
from workflows.execution import Execution
from workflows.gate import Gate
from workflows.limits import Allowance
from workflows.pace import Pace
from workflows.results import finish, interrupted
from workflows.sizes import TASK_BYTES, size_of
from workflows.transcript import Transcript

ODD_TURNS = 2
"""How many turns in a row may be cut off or empty before the model has failed."""


class Calls:
    """The open turn: `state.calls`."""

    def __init__(
        self, state: JobState, spec: AgentSpec, transcript: Transcript, gate: Gate, desk: Desk, allowance: Allowance
    ) -> None:
        self.state, self.transcript, self.desk, self.allowance = state, transcript, desk, allowance
        self.execution = Execution(state, spec, gate, desk, allowance)
        self.flight, self.previews, self.family = self.execution.flight, self.execution.previews, self.execution.family
        self.pace = Pace(state, allowance, desk, Deadlines(state, desk), self.flight, self.previews, self.family)

    def open(self, reply: ModelReply) -> None:
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
            finish(call, "not_executed", words.CUT_OFF)
        if self.state.odd_turns > ODD_TURNS:
            self.state.closing = "model_failure"

    async def run(self) -> None:
        """Bring every call of the open turn to its result, and the results into the transcript in the calls' order."""
        self._tell()
        for call in self.state.calls:
            if call.phase == "asking":
                self.execution.put_to_people(call)
        for group in self._groups():
            await self.pace.hold()
            if why := self.pace.stopped():
                await self._give_up_calls(why)
                break
            if (len(group) == 1 and group[0].plan.verdict == "ask") or group[0].plan.kind == "write":
                await self._gated(group[0])
            else:
                await self._together(group)
            self._tell()
        if why := self.pace.stopped():
            await self._give_up_calls(why)
        await self.previews.end()
        self._tell()
        self.state.prints = [*self.state.prints, progress.fingerprint(self.state.calls)][-progress.WINDOW :]
        self.state.calls = []
        if not self.allowance.rounds_used_up():  # else this was not one more: none of its calls ran
            self.allowance.finish_round()
        self.desk.turn_ended()
        self.desk.show()

    def _admit(self) -> None:
        """Say of every call of a new turn whether it may run, must be asked for, or is refused."""
        left = self.allowance.calls_left()
        for call in self.state.calls:
            if call.plan.kind == "invalid":
                finish(call, "error", call.plan.problem or "this call can't be made")
            elif call.plan.verdict == "deny":
                finish(call, "denied", call.plan.problem or words.denied_by_policy(""))
            elif call.digest in self.state.denied:
                finish(call, "denied", words.DENIED_BEFORE)
            elif left is not None and left <= 0:
                self._leave(call, "hit_tool_call_cap")
                self.state.closing = "hit_tool_call_cap"
            else:
                left = None if left is None else left - 1
                if call.plan.verdict == "ask":
                    self._ask_or_grant(call)

    def _ask_or_grant(self, call: CallState) -> None:
        grant = approval.granted(self.state, call, workflow.now())
        if grant is None:
            self.execution.ask(call, "asking", call.plan.problem)
            return
        call.phase, call.approved = "approved", True
        self.desk.note("used_grant", call, by=grant.by, grant=grant.id)

    def _groups(self) -> Iterator[list[CallState]]:
        """Calls without a result, in order: reads that stand next to each other together, all others alone."""
        group: list[CallState] = []
        room = TASK_BYTES
        for call in [call for call in self.state.calls if call.phase != "done"]:
            together, size = call.plan.kind != "write" and call.plan.verdict == "allow", size_of(call)
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

    async def _give_up_calls(self, why: Status) -> None:
        """A limit is no reason not to ask what became of a write that has begun; a person's stop is."""
        for call in self.state.calls:
            if call.phase == "unknown":
                await self._wait_for_word(call)
        self._leave_rest(why)

    async def _wait_for_word(self, call: CallState) -> None:
        await self.pace.wait(lambda: call.phase not in ("asking", "unknown") or self.state.stop_by is not None)

    def _leave_rest(self, why: Status) -> None:
        for call in (call for call in self.state.calls if call.phase != "done"):
            if call.phase == "unknown":
                finish(call, "unknown", words.INTERRUPTED)
            else:
                self._leave(call, why)
        if self.state.closing is None and why != "cancelled":
            self.state.closing = why

    def _leave(self, call: CallState, why: Status) -> None:
        text = words.NOT_EXECUTED.format(why=words.LIMIT_WORDS.get(why, "an earlier call ended the job"))
        finish(call, "not_executed", text)
        outcomes.note_not_done(self.state, call, text)

    async def _together(self, group: list[CallState]) -> None:
        errands = sum(call.plan.kind == "agent" for call in group)
        reads = [self.execution.execute(call, errands or 1) for call in group if call.plan.kind != "pure"]
        if reads:
            await asyncio.gather(*reads)
        # One after the other: parallel local activities may replay in another order.
        for call in group:
            if call.plan.kind == "pure":
                await self.execution.execute(call)
        for call in group:
            await self._gated(call)

    async def _gated(self, call: CallState) -> None:
        """Run a call that needs a person, as often as that person wants; return early when the job is stopped."""
        while call.phase != "done" and self.pace.stopped() is None:
            if call.phase in ("asking", "unknown"):
                await self._wait_for_word(call)
            else:
                await self.pace.hold()
                if self.pace.stopped() is None:  # a pause may end with a stop
                    await self.execution.execute(call)
        decided = self.state.decided.get(call.call.id)
        if decided is not None and decided.choice == "give_up":
            self.state.closing = "tool_failure"

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

    async def cancelled(self) -> None:
        """Answer every open call now; a write or a child under way gets a moment to end."""
        for errand, end in await self.family.recall():
            self.execution.take_reply(errand, end)
        for call, reply in await self.flight.recall():
            if call is not None and reply is not None and reply.errand is None:
                self.execution.take_reply(call, reply)
            elif call is not None and call.plan.kind == "agent":
                call.phase = "queued"  # it was being looked at, and no child was started for it
            elif call is None:
                self.allowance.spend(Usage(failed_attempts=1, unmeasured=1))
        await self.previews.end()
        for call in (call for call in self.state.calls if call.phase != "done"):
            call.result, call.phase = interrupted(call), "done"
            if call.result.status == "not_executed":
                outcomes.note_not_done(self.state, call, call.result.content)
        self._tell()
        self.state.calls = []
