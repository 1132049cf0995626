"""The gate in front of calls that wait for a person: what is pending, what was decided, and what a decision may do.

Decisions come as update and as signal with the same meaning; both are bound to the call's id and the digest of its
arguments, and each is used once. The checks here are pure: an update validator may run them.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from workflows import approval, words
from workflows.contracts import (
    CallState,
    Decided,
    Decision,
    JobState,
    JsonObject,
    Pending,
    Resolution,
    Vote,
)
from workflows.outcomes import cut
from workflows.received import refusal
from workflows.results import finish

SETTLEMENTS = ["happened", "not_happened", "give_up"]
EARLY_KEPT = 100
EARLY_BYTES = 4_000
DECIDED_KEPT = 1000
DENIED_KEPT = 1000
PROBLEM_BYTES = 4_000
"""Most of what stands beside a call about why it waits."""

REASON_BYTES = 200
"""Most of a reason or answer that is kept with the decision; the whole is in the transcript."""


def already_decided(decided: Decided) -> str:
    """What the sender of a second decision is told."""
    done = words.DONE.get(decided.choice, decided.choice)
    at = decided.at.isoformat(sep=" ", timespec="seconds")
    return f"call {decided.call} was already decided: {done} by {decided.by} at {at}"


def _people(call: CallState, state: JobState) -> dict[str, Any]:
    """How many people it takes and by when, who has approved, and who can't."""
    apart = {} if call.plan.asking.self_approval else {"self_approval": False, "barred": approval.barred(state)}
    return {
        **apart,
        **({"renewed": call.renewed} if call.renewed else {}),
        "expires_at": approval.expires_at(call),
        "quorum": call.plan.asking.quorum,
        "approved_by": [vote.by for vote in call.votes],
        "escalated": call.escalated_at is not None,
    }


class Gate:
    """Reads and changes the calls of the open turn in `state`."""

    def __init__(self, state: JobState) -> None:
        self._state = state

    def pending(self, after: str = "") -> list[Pending]:
        """The calls that wait for a person, in their order; only those behind the call `after`, if it is given."""
        ids = [call.call.id for call in self._state.calls]
        behind = set(ids[ids.index(after) + 1 :] if after in ids else ids)
        return [self._pending(call) for call in self._waiting() if call.call.id in behind]

    def waits(self) -> bool:
        return any(True for _ in self._waiting())

    def _waiting(self) -> Iterator[CallState]:
        return (call for call in self._state.calls if call.phase in ("asking", "unknown"))

    def _pending(self, call: CallState) -> Pending:
        doubtful = call.phase == "unknown"
        assert call.asked_at is not None
        return Pending(
            call=call.call.id,
            kind="unknown_outcome" if doubtful else "decision",
            agent=self._state.agent,
            tool=call.call.tool,
            arguments=call.arguments,
            digest=call.digest,
            preview=call.preview,
            why=self._state.turn_text,
            asked_at=call.asked_at,
            allowed=SETTLEMENTS if doubtful else call.plan.asking.allowed,
            problem=call.problem,
            risk=call.plan.asking.risk,
            parameters=call.plan.parameters,
            tenant=self._state.tenant,
            parent=self._state.parent,
            root=self._state.root,
            approvers=approval.approvers(call),
            **({} if doubtful else _people(call, self._state)),
        )

    def find(self, call_id: str) -> CallState | None:
        return next((call for call in self._state.calls if call.call.id == call_id), None)

    def early(self, call_id: str) -> list[Decision]:
        """The decisions that came before this call did."""
        return [decision for decision in self._state.early.values() if decision.call == call_id]

    def forget_early(self, decision: Decision) -> None:
        self._state.early = {key: kept for key, kept in self._state.early.items() if kept != decision}

    # --- decisions

    def check(self, decision: Decision) -> CallState:
        """The pending call that `decision` is for; raises the refusal that its sender gets."""
        call = self._asked(decision.call, "asking")
        if decision.digest != call.digest:
            raise refusal(
                "StaleArguments",
                f"call {decision.call} waits with arguments of digest {call.digest}, the decision is for"
                f" {decision.digest}; read the inbox again and decide on what it shows",
            )
        if decision.choice == "answer" and decision.text is None:
            raise refusal("NotAllowed", "an answer needs a text: what the model is told in the tool's place")
        if decision.arguments is not None and decision.choice != "approve":
            raise refusal("NotAllowed", f"arguments can be edited only with approve, not with {decision.choice}")
        approval.check_person(call, decision, self._state)
        return call

    def check_resolution(self, resolution: Resolution) -> CallState:
        call = self._asked(resolution.call, "unknown")
        approval.check_roles(call, resolution.by, resolution.roles)
        if resolution.choice == "happened" and resolution.result is None:
            raise refusal("NotAllowed", "happened needs a result: what the tool would have returned")
        return call

    def _asked(self, call_id: str, phase: str) -> CallState:
        call = self.find(call_id)
        if call is not None and call.phase == phase:
            return call
        if call is not None and call.phase == "unknown":
            raise refusal("NotAllowed", f"call {call_id} was started and its outcome is unknown: resolve it instead")
        if call is not None and call.phase == "asking":
            raise refusal("NotAllowed", f"call {call_id} was not started, it waits for a decision: decide it instead")
        if (earlier := self._state.decided.get(call_id)) is not None:
            raise refusal("AlreadyDecided", already_decided(earlier), earlier)
        if call is None:
            waiting = ", ".join(call.call.id for call in self._waiting()) or "none"
            raise refusal("UnknownCall", f"no call {call_id} in this job; waiting for a person: {waiting}")
        raise refusal("NotAllowed", f"call {call_id} ({call.call.tool}) does not wait for a person; it is {call.phase}")

    def keep_early(self, decision: Decision) -> None:
        """Keep a decision that came before its call; the oldest ones go when too many come."""
        size = len(decision.model_dump_json())
        if size > EARLY_BYTES:
            raise refusal(
                "UnknownCall", f"no call {decision.call} yet, and {size} bytes are too many to keep until it comes"
            )
        self._state.early[f"{decision.call} {decision.by}"] = decision
        while len(self._state.early) > EARLY_KEPT:
            del self._state.early[next(iter(self._state.early))]

    def apply(self, decision: Decision, now: datetime, edited: tuple[JsonObject, str] | None = None) -> Decided:
        """Carry out a checked decision. `edited` are validated new arguments and their digest."""
        call = self.check(decision)
        left = 0
        if decision.choice == "approve":
            left = self._approve(call, decision, now, edited)
        elif decision.choice == "answer":
            finish(call, "answered", words.ANSWERED.format(by=decision.by, text=decision.text))
        else:
            finish(call, "denied", words.denied(decision.by, decision.text))
            self._state.denied = [*self._state.denied, call.digest][-DENIED_KEPT:]
        decided = Decided(
            call=decision.call,
            choice=decision.choice,
            by=decision.by,
            at=now,
            text=decision.text and cut(decision.text, REASON_BYTES),
            digest=decision.digest,
            edited_digest=call.digest if call.edited else None,
            performed=decision.choice != "approve",
            missing=left,
        )
        return decided if left else self._record(decided)

    @staticmethod
    def _approve(call: CallState, decision: Decision, now: datetime, edited: tuple[JsonObject, str] | None) -> int:
        """Count an approval; how many more there must be. Other arguments are another question: votes start anew."""
        if edited is not None:
            call.arguments, call.digest = edited
            call.edited, call.votes = call.digest != call.plan.digest, []
            call.renewed += 1
        call.votes = [*call.votes, Vote(by=decision.by, roles=decision.roles, at=now)]
        left = approval.missing(call)
        if not left:
            call.phase, call.approved = "approved", True
        return left

    def settle(self, resolution: Resolution, now: datetime) -> Decided:
        """Carry out a checked resolution of an unknown outcome."""
        call = self.check_resolution(resolution)
        if resolution.choice == "happened":
            finish(call, "ok", words.HAPPENED.format(by=resolution.by, result=resolution.result))
        elif resolution.choice == "not_happened":
            call.phase = "approved"
        else:
            finish(call, "unknown", words.GAVE_UP.format(by=resolution.by))
        return self._record(
            Decided(
                call=resolution.call,
                choice=resolution.choice,
                by=resolution.by,
                at=now,
                text=resolution.result and cut(resolution.result, REASON_BYTES),
                digest=call.digest,
                performed=resolution.choice != "not_happened",
            )
        )

    def performed(self, call: CallState) -> None:
        """The call that a person let through has run, and returned."""
        if (decided := self._state.decided.get(call.call.id)) is not None:
            self._state.decided[call.call.id] = decided.model_copy(update={"performed": True})

    def _record(self, decided: Decided) -> Decided:
        self._state.decided[decided.call] = decided
        while len(self._state.decided) > DECIDED_KEPT:
            del self._state.decided[next(iter(self._state.decided))]
        return decided
