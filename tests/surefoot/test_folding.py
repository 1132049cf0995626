"""Deeds that were only repeated are one line for people."""

from datetime import UTC, datetime, timedelta

from surefoot.folding import Folded, folded
from workflows.contracts import Audit

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def deed(name: str, after: int, call: str = "c1", by: str | None = None) -> Audit:
    at = AT + timedelta(hours=after)
    return Audit.model_validate({"deed": name, "at": at, "call": call, "tool": "pay", "by": by})


def seen(deeds: list[Audit]) -> list[tuple[str, str | None, int, int]]:
    return [
        (line.deed.deed, line.deed.call, line.times, round((line.last - AT).total_seconds() / 3600))
        for line in folded(deeds)
    ]


def test_reminders_of_one_call_are_one_line_with_their_number_and_the_last() -> None:
    deeds = [deed("reminded", hour) for hour in range(1, 15)]

    assert folded(deeds) == [Folded(deeds[0], 14, deeds[-1].at)]


def test_of_two_calls_that_are_reminded_of_in_turn_each_has_its_line() -> None:
    deeds = [deed("reminded", hour, call) for hour in (1, 2) for call in ("c1", "c2")]

    assert seen(deeds) == [("reminded", "c1", 2, 2), ("reminded", "c2", 2, 2)]


def test_what_came_between_stays_between() -> None:
    deeds = [deed("reminded", 1), deed("approved", 2, by="ann"), deed("reminded", 3), deed("reminded", 4)]

    assert seen(deeds) == [("reminded", "c1", 1, 1), ("approved", "c1", 1, 2), ("reminded", "c1", 2, 4)]


def test_the_same_deed_of_two_people_is_two() -> None:
    assert seen([deed("approved", 1, by="ann"), deed("approved", 2, by="bob")]) == [
        ("approved", "c1", 1, 1),
        ("approved", "c1", 1, 2),
    ]
