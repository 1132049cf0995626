"""Outcomes: what is kept of a job for its end, cut where it is long, and always small enough to be a result."""

import base64
import random
from datetime import UTC, datetime

import pytest

from activities.payloads import data_converter
from workflows import outcomes
from workflows.contracts import (
    CallPart,
    CallPlan,
    CallState,
    Decided,
    Finding,
    JobEnd,
    JobState,
    JsonObject,
    NotDone,
    Result,
    ResultStatus,
    Spent,
    Status,
    Usage,
)
from workflows.outcomes import cut, note_not_done, note_result, outcome

PAYLOAD_BYTES = 2 * 1024 * 1024
"""What the server takes as one payload; a result above it would fail the job's last step for ever."""


def noise(seed: int, length: int) -> str:
    return base64.b64encode(random.Random(seed).randbytes(length)).decode()[:length]


def asked(arguments: JsonObject | None, tool: str = "look") -> CallState:
    part, plan = CallPart(id="c1-1", tool=tool, arguments=arguments), CallPlan(call="c1-1", kind="read")
    return CallState(call=part, plan=plan, arguments=arguments or {})


def result(content: str = "r", status: ResultStatus = "ok") -> Result:
    return Result(call="c1-1", tool="look", content=content, status=status)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", 0, ""),
        ("abc", 3, "abc"),
        ("abcd", 3, "abc\n[… 1 more characters: see the transcript]"),
        ("üü", 4, "üü"),
        ("üüü", 4, "üü\n[… 1 more characters: see the transcript]"),
        ("üüü", 3, "ü\n[… 2 more characters: see the transcript]"),
        ("😀", 3, "\n[… 1 more characters: see the transcript]"),
    ],
)
def test_a_long_text_is_cut_in_bytes_between_characters(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


@pytest.mark.parametrize(
    ("status", "kept", "is_error"),
    [
        ("ok", True, False),
        ("answered", True, False),
        ("error", True, True),
        ("unknown", True, True),
        ("denied", False, False),
        ("not_executed", False, False),
    ],
)
def test_findings_are_what_tools_or_people_said(status: ResultStatus, kept: bool, is_error: bool) -> None:
    state = JobState(agent="a")
    note_result(state, result("text", status))

    finding = Finding(call="c1-1", tool="look", content="text", is_error=is_error, unknown=status == "unknown")
    assert state.findings == ([finding] if kept else [])


def test_the_last_findings_are_kept_each_cut_where_it_is_long() -> None:
    state = JobState(agent="a")
    for number in range(45):
        note_result(state, result(f"{number} " + "x" * 5000))

    assert len(state.findings) == 40
    assert state.findings[0].content == "5 " + "x" * 3998 + "\n[… 1002 more characters: see the transcript]"


def test_what_was_not_done_names_its_arguments_unless_they_are_large() -> None:
    state = JobState(agent="a")
    note_not_done(state, asked({"key": "a"}), "no time")
    note_not_done(state, asked({"key": "x" * 2000}), "no time")
    note_not_done(state, asked(None, tool="t" * 500), "no time")

    assert state.not_done[:2] == [
        NotDone(call="c1-1", tool="look", arguments={"key": "a"}, why="no time"),
        NotDone(call="c1-1", tool="look", why="no time"),  # whole in the transcript
    ]
    assert state.not_done[2].tool == "t" * 200 + "\n[… 300 more characters: see the transcript]"


ENDED, FAILED = "The job ended after 2 rounds and 1 tool call: ", "The job failed after 2 rounds and 1 tool call: why"
ENDS: list[tuple[Status, bool, str]] = [
    ("complete", False, "The job is complete after 2 rounds and 1 tool call."),
    ("hit_iteration_cap", True, ENDED + "the step limit for this answer was reached."),
    ("hit_tool_call_cap", True, ENDED + "the limit of tool calls for this answer was reached."),
    ("hit_token_cap", True, ENDED + "the token limit for this answer was reached."),
    ("hit_cost_cap", True, ENDED + "the cost limit for this answer was reached."),
    ("hit_wall_clock", True, ENDED + "the time limit for this answer was reached."),
    ("no_progress", True, ENDED + "the same calls were repeated without progress."),
    ("tool_failure", True, FAILED),
    ("model_failure", True, FAILED),
    ("invalid_output", True, FAILED),
    ("cancelled", False, ENDED + "the job was stopped by a person."),
    ("failed", True, FAILED),
]


@pytest.mark.parametrize(("status", "requires_human", "summary"), ENDS)
def test_every_end_says_in_a_sentence_how_it_came_and_who_is_needed(
    status: Status, requires_human: bool, summary: str
) -> None:
    state = JobState(agent="a", overall=Spent(rounds=2, usage=Usage(tool_calls=1, model_calls=3)))
    end = outcome(state, status, error="why" if summary == FAILED else None)

    assert (end.status, end.requires_human, end.summary) == (status, requires_human, summary)
    assert end.usage == Usage(tool_calls=1, model_calls=3)


def test_every_status_has_an_end_in_this_test() -> None:
    assert {end[0] for end in ENDS} == set(Status.__args__)  # type: ignore[attr-defined]


async def test_the_largest_end_of_a_job_fits_into_one_payload() -> None:
    state = JobState(agent="a")
    for number in range(50):
        note_result(state, result(noise(number, 10_000)))
        note_not_done(state, asked({"key": noise(number, 1900)}), noise(-number, 3000))
    now = datetime(2030, 1, 1, tzinfo=UTC)
    state.decided = {
        f"c{n}": Decided(
            call=f"c{n}", choice="approve", by=noise(n, 30), at=now, text=noise(n, 200), digest=noise(n, 64)
        )
        for n in range(1000)
    }
    state.denied = [noise(n, 64) for n in range(1000)]
    end = outcome(state, "complete", answer=noise(1, 2_000_000), output=noise(2, 500_000), error=noise(3, 10_000))
    (payload,) = await data_converter({}).encode([JobEnd(outcome=end, carry=state)])

    assert end.answer is not None
    assert len(end.answer) < outcomes.ANSWER_BYTES + 100
    assert len(payload.data) < PAYLOAD_BYTES
