"""Where people meet a running job: what they send to it, and what the next run is handed of that.

Decisions arrive here as updates and as signals of the same meaning. Whatever changes what people see ends with `show`.
"""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic_core import to_json
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows import approval, policies, steps
from workflows.contracts import (
    Audit,
    CallState,
    CheckArguments,
    Choice,
    Decided,
    Decision,
    Deed,
    GrantTerms,
    JobStart,
    JobState,
    JsonObject,
    Resolution,
    Settlement,
    Steer,
)
from workflows.failures import FAILED, reason
from workflows.gate import PROBLEM_BYTES, Gate
from workflows.notices import Announcer
from workflows.outcomes import cut
from workflows.received import refusal, unanswered
from workflows.showing import BRIEF_BYTES, Board
from workflows.transcript import Transcript

CARRY_BYTES = 1_500_000
TAIL_BYTES = 20_000
"""Most bytes of entries that a run hands on because no model call was handed them; others are asked for by query."""

REST_BYTES = 2_000
"""Most bytes of a result that a run ended from outside had not told yet."""

STEER_BYTES = 1_000_000
STEERS_SEEN = 1000
STEERERS_KEPT = 200

DEEDS: dict[Choice, Deed] = {"approve": "approved", "answer": "answered", "deny": "denied"}
SETTLED: dict[Settlement, Deed] = {"happened": "happened", "not_happened": "not_happened", "give_up": "gave_up"}


class Desk:
    """Reads and changes `state` on behalf of people; `Loop` waits for what changes."""

    def __init__(self, state: JobState, transcript: Transcript, gate: Gate) -> None:
        self._state, self._transcript, self._gate = state, transcript, gate
        self.board = Board(state, transcript, gate)
        self._too_big = False
        self._begun = workflow.info().get_current_history_length()
        self._early: set[asyncio.Task[None]] = set()
        self.webhooks = Announcer(state)

    def show(self) -> None:
        self.board.show()

    # --- what people send

    async def decide(self, decision: Decision) -> Decided:
        """Carry out a decision on a pending call; edited arguments are first checked against the same tool."""
        call = self._gate.check(decision)
        edited = await self._check_edit(decision) if decision.arguments is not None else None
        decided = self._gate.apply(decision, workflow.now(), edited)
        self._note_decision(call, decision, decided)
        if decided.missing and call.digest != decision.digest:
            # Another question: whoever approved before is asked anew, and must hear of it.
            self.webhooks.tell_of_call("decision_needed", call)
        if decision.grant is not None:
            self._grant(call, decision, decision.grant)
        self.show()
        return decided

    def _note_decision(self, call: CallState, decision: Decision, decided: Decided) -> None:
        self.note(
            DEEDS[decision.choice],
            call,
            by=decision.by,
            roles=decision.roles,
            digest=decision.digest,
            edited_digest=call.digest if call.digest != decision.digest else None,
            text=decided.text,
            missing=decided.missing,
        )

    def _grant(self, call: CallState, decision: Decision, terms: GrantTerms) -> None:
        grant = approval.give(self._state, call, terms, decision.by, workflow.now())
        fixed = f" with {cut(to_json(terms.arguments).decode(), BRIEF_BYTES)}" if terms.arguments else ""
        text = f"{terms.count} calls of {grant.tool}{fixed} until {grant.until.isoformat(timespec='seconds')}"
        self.note("granted", call, by=decision.by, roles=decision.roles, text=text, grant=grant.id)

    def note(self, deed: Deed, call: CallState | None = None, **more: Any) -> None:
        """Write down who did what, where nothing can be changed later."""
        about = {"call": call.call.id, "tool": call.call.tool, "digest": call.digest} if call is not None else {}
        told = {name: value for name, value in {**about, **more}.items() if value not in (None, [], 0)}
        self._transcript.append(Audit(deed=deed, at=workflow.now(), **told))

    async def decide_or_keep(self, decision: Decision) -> None:
        """A decision by signal: its sender hears nothing, so what can't be used now is kept or noted."""
        call = self._gate.find(decision.call)
        if call is None and decision.call not in self._state.decided:
            self._gate.keep_early(decision)
            return
        try:
            await self.decide(decision)
        except ApplicationError as error:
            if call is not None and call.phase == "asking":
                call.problem = cut(error.message, PROBLEM_BYTES)
                self.note("refused", call, by=decision.by, text=call.problem)
                self.show()
            raise

    def decide_early(self, decision: Decision) -> None:
        """Use a decision that came before its call did."""
        task = asyncio.create_task(self._decide_early(decision))
        self._early.add(task)
        task.add_done_callback(self._early.discard)

    async def _decide_early(self, decision: Decision) -> None:
        with unanswered():
            await self.decide_or_keep(decision)
        self._gate.forget_early(decision)

    async def settled(self) -> None:
        """Until every decision that was sent has been carried out or refused, and every notice is on its way."""
        await workflow.wait_condition(
            lambda: not self._early and not self.webhooks and workflow.all_handlers_finished()
        )

    async def _check_edit(self, decision: Decision) -> tuple[JsonObject, str]:
        call = self._gate.check(decision)
        assert decision.arguments is not None
        request = CheckArguments(agent=self._state.agent, tool=call.call.tool, arguments=decision.arguments)
        try:
            checked = await workflow.execute_local_activity(steps.check_arguments, request, **policies.LOCAL)
        except FAILED as error:
            raise refusal("NotAllowed", f"the edited arguments could not be checked: {reason(error)}") from None
        if checked.problem is not None:
            raise refusal("InvalidArguments", f"edited arguments for {call.call.tool}: {checked.problem}")
        return decision.arguments, checked.digest

    def resolve(self, resolution: Resolution) -> Decided:
        call = self._gate.check_resolution(resolution)
        decided = self._gate.settle(resolution, workflow.now())
        self.note(SETTLED[resolution.choice], call, by=resolution.by, roles=resolution.roles, text=decided.text)
        self.show()
        return decided

    def steer(self, steer: Steer) -> None:
        """Keep a message for the end of the round; the same id is taken once."""
        if steer.id in self._state.steers_seen:
            return
        waiting, size = sum(len(each.text.encode()) for each in self._state.steers), len(steer.text.encode())
        if waiting + size > STEER_BYTES:
            raise refusal(
                "TooLarge",
                f"{waiting} bytes of messages wait for the end of this round already, this one has {size}, and at most"
                f" {STEER_BYTES} can wait together; send it again after the round",
            )
        self._state.steers = [*self._state.steers, steer]
        if steer.by is not None:
            others = [name for name in self._state.steered_by if name != steer.by]
            self._state.steered_by = [*others, steer.by][-STEERERS_KEPT:]
        self.note("steered", by=steer.by)
        self._state.steers_seen = [*self._state.steers_seen, steer.id][-STEERS_SEEN:]
        if any(not call.plan.asking.self_approval for call in self._state.calls):
            self.show()  # whoever steers can't approve these any more

    # --- a new run for a long history

    def history_is_long(self) -> bool:
        if self._too_big or self._state.spec is None:
            return False
        info = workflow.info()
        # Counted from the run's beginning: a run that could not take one step before it moved on would do so for ever.
        grown = info.get_current_history_length() - self._begun
        if grown >= self._state.spec.history_events or (grown > 0 and info.is_continue_as_new_suggested()):
            return True
        left = self.adoption_due()
        return left is not None and left <= timedelta(0)

    def adoption_due(self) -> timedelta | None:
        """In how long a new run has to adopt what earlier ones recorded; None if there is no such thing to do."""
        ended = self._transcript.oldest_end()
        if ended is None or self._too_big or self._state.spec is None:
            return None
        return ended + timedelta(seconds=self._state.spec.adopt_seconds) - workflow.now()

    def carry(self, tail_bytes: int = TAIL_BYTES) -> JobState:
        """What the next run begins with."""
        segments = self._transcript.segments(workflow.info().run_id, workflow.now())
        tail = self._transcript.tail(tail_bytes)
        return self._state.model_copy(update={"earlier": segments, "tail": tail, "entries": len(self._transcript)})

    def rest(self) -> JobState:
        """What a reply goes on from, small enough to be its input: an open call only gets a result then."""
        carry = self.carry(tail_bytes=0)
        return carry.model_copy(update={"calls": [_slim(call) for call in carry.calls if not call.told], "early": {}})

    async def continue_as_new(self) -> None:
        """Go on in a new run, unless the open turn is too large to be carried: then at its end."""
        await self.settled()
        carry = self.carry()
        if len(carry.model_dump_json(exclude_unset=True).encode()) > CARRY_BYTES:
            self._too_big = True
            return
        self.show()
        # Left to itself, a new run gets the memo that this one began with, without what was upserted.
        workflow.continue_as_new(
            JobStart(agent=self._state.agent, carry=carry, resumed=True), memo=dict(workflow.memo())
        )

    def turn_ended(self) -> None:
        self._too_big = False


def _slim(call: CallState) -> CallState:
    part = call.call.model_copy(update={"arguments": None, "raw": None})
    result = call.result and call.result.model_copy(update={"content": cut(call.result.content, REST_BYTES)})
    # What it was edited to goes as well, so that nothing can be told of the edit.
    return call.model_copy(update={"call": part, "arguments": {}, "edited": False, "preview": None, "result": result})
