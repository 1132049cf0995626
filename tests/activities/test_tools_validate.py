"""What a tool makes of the arguments that a model sent: strict, complete, and explained in the model's terms."""

import datetime
import enum
import ipaddress
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator
from typing_extensions import TypedDict

from activities.tools.tool import InvalidArguments, Tool, tool
from workflows.contracts import JsonObject


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Address(BaseModel):
    street: str
    number: int = 1


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def must_be_even(cls, n: int) -> int:
        if n == 13:
            raise ZeroDivisionError("thirteen")
        if n == 15:
            raise LookupError("fifteen \ud800")
        if n == 17:
            raise SystemExit("seventeen")
        if n % 2:
            raise ValueError("give an even number")
        return n


@dataclass
class Point:
    x: float


class Options(TypedDict):
    depth: int


class Pair(NamedTuple):
    left: str
    right: int


def taking(annotation: Any) -> Tool:
    def take(x: Any) -> None: ...

    take.__annotations__["x"] = annotation
    return tool(take)


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (int, 5, 5),
        (int, 5.0, 5),
        (int, 10**30, 10**30),
        (float, 5, 5.0),
        (float, 0.1, 0.1),
        (str, "", ""),
        (bool, False, False),
        (None, None, None),
        (int | None, None, None),
        (int | str, "5", "5"),
        (int | str, 5, 5),
        (Any, {"a": [1.0, "x"]}, {"a": [1, "x"]}),
        (JsonValue, [None, True], [None, True]),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[str], ["a"], ["a"]),
        (set[int], [1, 1], {1}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (tuple[int, str], [1, "a"], (1, "a")),
        (deque[int], [1], deque([1])),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (Literal["a", 1], "a", "a"),
        (Colour, "red", Colour.RED),
        (Level, 1, Level.LOW),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (datetime.time, "10:30:00", datetime.time(10, 30)),
        (
            datetime.datetime,
            "2026-01-02T03:04:05Z",
            datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        ),
        (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
        (Decimal, "0.10", Decimal("0.10")),
        (Decimal, 0.1, Decimal("0.1")),
        (Decimal, 3, Decimal(3)),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (Path, "a/b", Path("a/b")),
        (ipaddress.IPv4Address, "10.0.0.1", ipaddress.IPv4Address("10.0.0.1")),
        (bytes, "abc", b"abc"),
        (Address, {"street": "A"}, Address(street="A", number=1)),
        (Point, {"x": 1}, Point(1.0)),
        (Options, {"depth": 1}, {"depth": 1}),
        (Pair, ["a", 1], Pair("a", 1)),
        (Annotated[int, Field(ge=1)], 1, 1),
    ],
)
def test_json_becomes_the_python_value_of_the_annotation(annotation: Any, sent: JsonValue, value: Any) -> None:
    found = taking(annotation).validate({"x": sent})["x"]

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (int, "5"),
        (int, True),
        (int, 5.5),
        (int, None),
        (int, 1e300),
        (float, "1.5"),
        (float, True),
        (str, 5),
        (str, None),
        (bool, 1),
        (bool, "true"),
        (bool, 0),
        (list[int], "1,2"),
        (list[int], {"0": 1}),
        (list[int], ["1"]),
        (dict[str, int], [["a", 1]]),
        (Literal["1"], 1),
        (Colour, "RED"),
        (datetime.date, 0),
        (datetime.datetime, 1700000000),
        (datetime.timedelta, 5),
        (Decimal, "abc"),
        (Address, {"street": 5}),
        (Address, "A"),
        (Address, {"street": "A", "number": "1"}),
        (Point, {"x": "1"}),
        (Options, {"depth": "1"}),
        (Strict, {"x": 1, "y": 2}),
        (Annotated[int, Field(ge=1)], 0),
        (Annotated[str, Field(max_length=2)], "abc"),
    ],
)
def test_nothing_is_guessed_at(annotation: Any, sent: JsonValue) -> None:
    with pytest.raises(InvalidArguments, match="do not fit the tool take"):
        taking(annotation).validate({"x": sent})


@tool
def refund(order: str, amount: int, note: str = "none", lines: list[Address] = []) -> None: ...  # noqa: B006


def test_the_problem_names_each_wrong_field_and_why() -> None:
    with pytest.raises(InvalidArguments) as caught:
        refund.validate({"amount": "5", "lines": [{"street": "A"}, {"street": 3}], "ammount": 1})

    assert str(caught.value) == (
        "The arguments do not fit the tool refund:\n"
        "- order: missing, but required\n"
        '- amount: Input should be a valid integer, got "5"\n'
        "- lines[1].street: Input should be a valid string, got 3\n"
        "- ammount: unknown argument; the known ones are order, amount, note, lines"
    )


def test_defaults_are_filled_in_and_not_shared_between_calls() -> None:
    first = refund.validate({"order": "A", "amount": 1})
    first["lines"].append("changed")

    assert refund.validate({"order": "A", "amount": 1}) == {"order": "A", "amount": 1, "note": "none", "lines": []}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_number_is_refused(number: float) -> None:
    with pytest.raises(InvalidArguments, match=r"take can't be read: ValueError: .*not JSON compliant"):
        taking(float).validate({"x": number})


def test_arguments_nested_too_deeply_are_refused() -> None:
    nested: JsonValue = 1
    for _ in range(100_000):
        nested = [nested]

    with pytest.raises(InvalidArguments, match="nested too deeply"):
        taking(JsonValue).validate({"x": nested})


def test_the_tool_s_own_validators_speak_to_the_model() -> None:
    with pytest.raises(InvalidArguments, match=r"- x\.n: give an even number, got 3$"):
        taking(Even).validate({"x": {"n": 3}})


def test_what_a_validator_says_becomes_valid_text() -> None:
    with pytest.raises(InvalidArguments, match=r"can't be read: LookupError: fifteen �$"):
        taking(Even).validate({"x": {"n": 15}})


def test_a_validator_that_fails_otherwise_is_no_crash() -> None:
    with pytest.raises(InvalidArguments, match="take can't be read: ZeroDivisionError: thirteen"):
        taking(Even).validate({"x": {"n": 13}})


def test_a_validator_that_exits_does_not_end_the_worker() -> None:
    with pytest.raises(InvalidArguments, match="take can't be read: SystemExit: seventeen"):
        taking(Even).validate({"x": {"n": 17}})


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": ["a" * 100] * 5_000},
        {"x": "y" * 2_000_000},
        {"key" * 100_000: 1},
        {f"key{n}": n for n in range(5_000)},
        {"x": {"k" * 100_000: "v" * 100_000}},
    ],
)
def test_the_problem_is_short_whatever_was_sent(arguments: JsonObject) -> None:
    with pytest.raises(InvalidArguments) as caught:
        taking(list[int]).validate(arguments)

    assert len(str(caught.value)) < 6_000
    assert "pydantic" not in str(caught.value)
    assert "https://" not in str(caught.value)


def test_many_problems_are_counted() -> None:
    with pytest.raises(InvalidArguments, match=r"and 4990 more$"):
        taking(list[int]).validate({"x": ["a"] * 5_000})


def test_a_line_of_a_megabyte_passes() -> None:
    assert taking(str).validate({"x": "é" * 1_000_000})["x"] == "é" * 1_000_000


@pytest.mark.parametrize(
    ("sent", "received"),
    [("a\x00b", "a\x00b"), ("😀", "😀"), ("\ud83d\ude00", "😀"), ("a\ud83d", "a�"), ("\ude00b", "�b")],
)
def test_nul_emoji_and_halves_of_surrogate_pairs_pass_as_valid_text(sent: str, received: str) -> None:
    assert taking(str).validate({"x": sent})["x"] == received
    assert taking(dict[str, str]).validate({"x": {sent: sent}})["x"] == {received: received}


def test_a_lone_surrogate_in_a_wrong_place_does_not_break_the_explanation() -> None:
    with pytest.raises(InvalidArguments) as caught:
        taking(int).validate({"x": "\ud800", "\ud801": 1})

    assert str(caught.value).encode("utf-8")


JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
anything = taking(JsonValue)
typed = taking(dict[str, list[int | str] | Address | None])


@given(JSON)
def test_any_json_value_passes_unchanged_where_any_is_allowed(value: JsonValue) -> None:
    assert anything.validate({"x": value}) == {"x": value}


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_any_arguments_are_either_read_or_refused_and_nothing_else(arguments: JsonObject) -> None:
    for made in (typed, refund):
        problem = ""
        try:
            made.validate(arguments)
        except InvalidArguments as error:
            problem = str(error)
        assert problem.encode("utf-8").decode("utf-8") == problem
