"""From what a job keeps to rounds, and to the picture of where time and money went."""

from datetime import UTC, datetime, timedelta

import pytest

from surefoot.console.overview import bars
from surefoot.console.picture import picture
from surefoot.console.timeline import CallLine, Round, rounds, timeline
from workflows.contracts import (
    Audit,
    CallPart,
    JobView,
    Limits,
    Logged,
    Message,
    Note,
    Result,
    Spent,
    TextPart,
    Turn,
    Usage,
)

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(number: int, *calls: str, cost: float = 0.0, seconds: float | None = None) -> Turn:
    parts = [TextPart(text="hm"), *(CallPart(id=call, tool="pay", arguments={}) for call in calls)]
    return Turn(number=number, parts=parts, usage=Usage(cost_usd=cost, input_tokens=10), at=AT, seconds=seconds)


def result(call: str, seconds: float | None = None) -> Result:
    return Result(call=call, tool="pay", content="paid", seconds=seconds)


def deed(deed: str, call: str | None = None, after: float = 0.0) -> Audit:
    more = {"call": call, "tool": "pay"} if call else {}
    return Audit.model_validate({"deed": deed, "at": AT + timedelta(seconds=after), "by": "ann", **more})


ENTRIES: list[Logged] = [
    Message(text="go"),
    turn(1, "c1", "c2", cost=0.2, seconds=2.0),
    deed("approved", "c1", 30),
    result("c1", 1.0),
    deed("performed", "c1", 31),
    deed("denied", "c2", 40),
    result("c2"),
    deed("paused"),
    Note(text="stop soon"),
    turn(2, cost=0.1, seconds=4.0),
]


def test_a_round_has_its_calls_with_their_results_and_decisions() -> None:
    message, first, paused, note, second = timeline(ENTRIES)

    assert isinstance(first, Round)
    assert isinstance(second, Round)
    assert (message, note) == (ENTRIES[0], ENTRIES[8])
    assert paused == ENTRIES[7]
    assert [(line.id, line.status, [deed.deed for deed in line.deeds]) for line in first.calls] == [
        ("c1", "ok", ["approved", "performed"]),
        ("c2", "ok", ["denied"]),
    ]
    assert (first.model_seconds, first.tool_seconds, first.waited) == (2.0, 1.0, 40.0)
    assert second.waited == 0.0


def test_a_part_that_begins_within_a_round_shows_its_calls_by_themselves() -> None:
    line, other, *_ = timeline(ENTRIES[2:])

    assert isinstance(line, CallLine)
    assert isinstance(other, CallLine)
    assert (line.id, line.tool, line.call, line.status) == ("c1", "pay", None, "ok")


def test_a_call_without_a_result_is_open() -> None:
    (only,) = rounds(timeline(ENTRIES[1:2]))

    assert [line.status for line in only.calls] == ["open", "open"]


@pytest.mark.parametrize(
    ("deeds", "status"),
    [
        (["denied"], "denied"),
        (["answered"], "answered"),
        (["expired"], "expired"),
        (["approved"], "approved"),
        (["used_grant"], "approved"),
        (["approved", "performed"], "ok"),
        (["approved", "not_happened"], "approved"),
        (["gave_up"], "unknown"),
        (["reminded"], "open"),
    ],
)
def test_a_call_whose_result_waits_for_one_before_it_shows_what_became_of_it(deeds: list[str], status: str) -> None:
    (only,) = rounds(timeline([turn(1, "c1"), *(deed(name, "c1") for name in deeds)]))

    assert [line.status for line in only.calls] == [status]


def test_a_call_that_waits_says_so_whatever_was_said_of_it_before() -> None:
    entries: list[Logged] = [turn(1, "c1", "c2"), deed("approved", "c1"), deed("approved", "c2")]
    (only,) = rounds(timeline(entries, {"c1": "decision", "c2": "unknown_outcome"}))

    assert [line.status for line in only.calls] == ["waiting", "unknown"]


def test_an_approval_that_others_must_follow_leaves_a_call_open() -> None:
    counted = deed("approved", "c1").model_copy(update={"missing": 1})
    (only,) = rounds(timeline([turn(1, "c1"), counted]))

    assert [line.status for line in only.calls] == ["open"]


def test_the_picture_stacks_time_and_shows_money_by_turn() -> None:
    time, money = picture(rounds(timeline(ENTRIES)))

    assert [(bar.kind, bar.x, bar.y, bar.height) for bar in time.bars] == [
        ("model", 0.0, 48.0, 48.0),
        ("tool", 0.0, 24.0, 24.0),
        ("model", 28.0, 0.0, 96.0),
    ]
    assert (time.top, time.legend) == ("4 s", [("model", "6 s"), ("tool", "1 s"), ("wait", "40 s")])
    assert [(bar.height, bar.title) for bar in money.bars] == [
        (96.0, "round 1: $0.20, 10 tokens"),
        (48.0, "round 2: $0.10, 10 tokens"),
    ]


def test_where_nothing_was_measured_there_is_no_picture() -> None:
    assert picture(rounds(timeline([turn(1)]))) == []


def test_bars_are_for_the_limits_that_there_are() -> None:
    view = JobView(
        job="j",
        agent="a",
        state="running",
        rounds=5,
        usage=Usage(cost_usd=0.5),
        limits=Limits(rounds=4, tool_calls=None, seconds=120.0),
        total=Limits(rounds=None, tool_calls=None, cost_usd=1.0),
        spent=Spent(rounds=2, seconds=30.0),
    )

    shown = [(heading, [(bar.name, bar.said) for bar in found]) for heading, found in bars(view)]
    assert shown == [
        ("Since the last message", [("rounds", "2 of 4"), ("time at work", "30 s of 2 min")]),
        ("In total", [("cost", "$0.50 of $1.00")]),
    ]
