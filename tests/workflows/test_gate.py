"""The gate over its state: what is pending, what was decided, and how much of it is kept."""

from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError

from workflows.contracts import CallPart, CallPhase, CallPlan, CallState, Decision, JobState, Resolution
from workflows.gate import DECIDED_KEPT, DENIED_KEPT, EARLY_KEPT, REASON_BYTES, Gate
from workflows.showing import brief, fitting

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def call(id: str, phase: CallPhase = "asking", text: str = "") -> CallState:
    part = CallPart(id=id, tool="save", arguments={"text": text})
    return CallState(
        call=part, plan=CallPlan(call=id, kind="write"), phase=phase, arguments={"text": text}, digest=id, asked_at=NOW
    )


def gate(*calls: CallState) -> tuple[Gate, JobState]:
    state = JobState(agent="w", calls=list(calls))
    return Gate(state), state


def word(id: str, choice: str = "approve", **more: object) -> Decision:
    return Decision.model_validate({"call": id, "digest": id, "choice": choice, "by": "ann", **more})


def refusal_of(gate: Gate, decision: Decision) -> tuple[str | None, str]:
    with pytest.raises(ApplicationError) as caught:
        gate.check(decision)
    return caught.value.type, caught.value.message


def test_pending_are_the_calls_that_wait_in_their_order() -> None:
    looked, _ = gate(call("a"), call("b", "running"), call("c", "unknown"), call("d", "done"), call("e"))

    assert [(p.call, p.kind) for p in looked.pending()] == [
        ("a", "decision"), ("c", "unknown_outcome"), ("e", "decision"),
    ]  # fmt: skip
    assert [p.call for p in looked.pending(after="b")] == ["c", "e"]
    assert [p.call for p in looked.pending(after="gone")] == ["a", "c", "e"]
    assert looked.pending(after="e") == []


def test_a_check_changes_nothing() -> None:
    looked, state = gate(call("a"))
    before = state.model_dump_json()
    looked.check(word("a"))
    refusal_of(looked, word("b"))

    assert state.model_dump_json() == before


@pytest.mark.parametrize(
    ("phase", "why"),
    [
        ("queued", "call a (save) does not wait for a person; it is queued"),
        ("approved", "call a (save) does not wait for a person; it is approved"),
        ("running", "call a (save) does not wait for a person; it is running"),
        ("done", "call a (save) does not wait for a person; it is done"),
        ("unknown", "call a was started and its outcome is unknown: resolve it instead"),
    ],
)
def test_only_a_call_that_is_asked_about_can_be_decided(phase: CallPhase, why: str) -> None:
    looked, _ = gate(call("a", phase))

    assert refusal_of(looked, word("a")) == ("NotAllowed", why)


def test_a_second_decision_is_told_of_the_first() -> None:
    looked, _ = gate(call("a"))
    looked.apply(word("a", "deny", text="no"), NOW)

    assert refusal_of(looked, word("a")) == (
        "AlreadyDecided", "call a was already decided: denied by ann at 2026-01-02 00:00:00+00:00",
    )  # fmt: skip


def test_what_is_kept_of_decisions_is_bounded_and_the_oldest_go_first() -> None:
    many = [f"c{number}" for number in range(DECIDED_KEPT + 5)]
    looked, state = gate(*(call(id) for id in many))
    for id in many:
        looked.apply(word(id, "deny", text="x" * 5000), NOW)

    assert list(state.decided) == many[5:]
    assert state.denied == many[-DENIED_KEPT:]
    assert all(len(decided.text or "") < REASON_BYTES + 100 for decided in state.decided.values())


def test_what_is_kept_of_early_decisions_is_bounded() -> None:
    looked, state = gate()
    for number in range(EARLY_KEPT + 5):
        looked.keep_early(word(f"c{number}"))
    with pytest.raises(ApplicationError, match="too many to keep until it comes"):
        looked.keep_early(word("c1", text="x" * 5000))

    assert [decision.call for decision in state.early.values()] == [f"c{number}" for number in range(5, EARLY_KEPT + 5)]


def test_a_resolution_is_for_a_call_whose_outcome_is_unknown() -> None:
    looked, _ = gate(call("a", "unknown"), call("b"))
    settled = looked.settle(Resolution(call="a", choice="not_happened", by="bob"), NOW)

    assert (settled.choice, settled.performed, settled.digest) == ("not_happened", False, "a")
    with pytest.raises(ApplicationError, match="it waits for a decision: decide it instead"):
        looked.check_resolution(Resolution(call="b", choice="give_up"))


def test_as_many_calls_are_shown_as_fit_and_never_none() -> None:
    looked, _ = gate(*(call(id, text="x" * 1000) for id in "abc"))
    pending = looked.pending()

    assert [p.call for p in fitting(pending, 3000)] == ["a", "b"]
    assert [p.call for p in fitting(pending, 10)] == ["a"]
    assert fitting(pending, 10_000) == pending
    assert fitting([], 10) == []


def test_a_brief_says_whether_it_is_whole() -> None:
    looked, _ = gate(call("a", text="short"), call("b", text="long" * 200))
    short, long = (brief(pending) for pending in looked.pending())

    assert (short["arguments"], short["whole"]) == ({"text": "short"}, True)
    assert (long["arguments"], long["whole"]) == (None, False)
    previewed = looked.pending()[0].model_copy(update={"preview": "long" * 200})
    assert brief(previewed)["whole"] is False
    doubted = brief(looked.pending()[0].model_copy(update={"problem": "long" * 200}))
    assert (len(str(doubted["problem"])) < 500, doubted["whole"]) == (True, False)
