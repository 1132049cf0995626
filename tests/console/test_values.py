"""Values, differences, times and amounts as the pages show them."""

from datetime import UTC, datetime, timedelta

import pytest

from surefoot.console import words
from surefoot.console.differences import Difference, differences
from surefoot.console.values import Fields, Items, Leaf, Table, brief, is_whole, node
from workflows.contracts import JsonObject

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_values_are_shown_by_what_they_are() -> None:
    assert node("x") == Leaf("text", "x")
    assert node(1.5) == Leaf("number", "1.5")
    assert [node(True), node(None), node([]), node({})] == [
        Leaf("word", word) for word in ("true", "null", "empty", "empty")
    ]
    assert node({"a": [1, "b"]}) == Fields([("a", Items([Leaf("number", "1"), Leaf("text", "b")]))])


def test_a_list_of_alike_objects_is_a_table() -> None:
    alike = node([{"sku": "a", "n": 1}, {"sku": "b", "n": 2}])

    assert alike == Table(
        ["sku", "n"], [[Leaf("text", "a"), Leaf("number", "1")], [Leaf("text", "b"), Leaf("number", "2")]]
    )
    assert isinstance(node([{"a": 1}, {"b": 1}]), Items)
    assert isinstance(node([{"a": [1]}, {"a": [2]}]), Items)
    assert isinstance(node([{"a": 1}]), Items)


def test_a_long_text_is_folded_and_a_huge_one_is_cut_with_how_much() -> None:
    long, huge = node("word " * 200), node("x" * 30_000)

    assert isinstance(long, Leaf)
    assert isinstance(huge, Leaf)
    assert (len(long.lead or ""), long.left_out, huge.left_out) == (120, 0, 10_000)
    assert (is_whole(long), is_whole(huge), is_whole(node({"a": ["x" * 30_000]}))) == (True, False, False)


def test_long_lists_are_cut_and_deep_values_are_json() -> None:
    deep: JsonObject = {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}
    shown = node(deep)
    for _ in range(6):
        assert isinstance(shown, Fields)
        shown = shown.rows[0][1]

    assert shown == Leaf("json", '{\n  "g": 1\n}')
    assert (node(list(range(60))), is_whole(node(list(range(60))))) == (
        Items([Leaf("number", str(n)) for n in range(50)], 10),
        False,
    )


def test_arguments_in_a_line_are_short() -> None:
    assert brief({"order": "A-1", "amount": 12}) == 'order="A-1", amount=12'
    assert len(brief({"text": "x" * 500})) == 121
    assert brief(None) == ""


def test_differences_are_named_by_their_place() -> None:
    before: JsonObject = {"a": 1, "gone": "x", "in": {"b": [1, {"c": "old"}], "same": True}}
    after: JsonObject = {"a": 1.0, "in": {"b": [1, {"c": "new"}, 3], "same": True}, "new": None}

    assert differences(before, after) == [
        Difference("gone", "x", None),
        Difference("in.b[1].c", "old", "new"),
        Difference("in.b[2]", None, "3"),
        Difference("new", None, "null"),
    ]
    assert differences(before, before) == []


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0, "0 s"), (0.04, "40 ms"), (1.5, "1.5 s"), (3, "3 s"), (59, "59 s"), (60, "1 min"), (3_600, "1 h"),
     (7_800, "2 h 10 min"), (90_000, "1 d 1 h")],
)  # fmt: skip
def test_lengths_of_time_in_words(seconds: float, says: str) -> None:
    assert words.span(seconds) == says


def test_ages_and_times_to_come_in_words() -> None:
    assert words.age(NOW - timedelta(seconds=0.5), NOW) == "just now"
    assert words.age(NOW - timedelta(seconds=65.7), NOW) == "1 min ago"
    assert words.until(NOW + timedelta(hours=2), NOW) == "in 2 h"
    assert words.until(NOW - timedelta(seconds=1), NOW) == "now"


@pytest.mark.parametrize(
    ("dollars", "says"), [(0, "$0"), (0.0042, "$0.0042"), (0.5, "$0.50"), (12.345, "$12.35"), (0.00001, "$0.00")]
)
def test_money_in_words(dollars: float, says: str) -> None:
    assert words.money(dollars) == says


def test_amounts_in_words() -> None:
    shown = [words.amount(number) for number in (7, 12_500, 2_340_000, 1.5)]

    assert shown == ["7", "12\u202f500", "2.3 M", "1.5"]
    assert [words.plural(count, "call") for count in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]
