"""What a tool knows of its call."""

import pytest

from activities.tools.tool import ToolCancelled, ToolContext


def test_the_idempotency_key_is_the_same_for_every_attempt_and_no_other_call() -> None:
    first = ToolContext.for_testing(job="job-1", call="c2-1", attempt=1)
    second = ToolContext.for_testing(job="job-1", call="c2-1", attempt=2)
    other = ToolContext.for_testing(job="job-1", call="c2-2")

    assert first.idempotency_key == second.idempotency_key == "job-1/c2-1"
    assert other.idempotency_key != first.idempotency_key


def test_a_heartbeat_reaches_the_worker() -> None:
    notes: list[str] = []
    context = ToolContext.for_testing(beat=notes.append)

    context.heartbeat("half done")
    context.heartbeat()

    assert notes == ["half done", ""]


def test_a_heartbeat_of_a_cancelled_job_raises_through_except_exception() -> None:
    def cancelled(note: str) -> None:
        raise ToolCancelled

    context = ToolContext.for_testing(beat=cancelled)

    def work() -> str:
        try:
            context.heartbeat()
        except Exception:
            return "swallowed"
        return "went on"

    with pytest.raises(ToolCancelled):
        work()


def test_a_context_for_a_unit_test_needs_nothing() -> None:
    context = ToolContext.for_testing()

    context.heartbeat("nobody listens")

    assert (context.job, context.call, context.tool, context.agent, context.attempt) == (
        "test-job",
        "c1-1",
        "test-tool",
        "test-agent",
        1,
    )
