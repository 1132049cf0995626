"""What the model reads of a tool's return value: always text, never an exception."""

import datetime
import enum
import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, computed_field

from activities.tools.rendering import MOST_ITEMS
from activities.tools.tool import render_output


class Colour(enum.Enum):
    RED = "red"


class Item(BaseModel):
    name: str
    price: Decimal = Decimal("1.50")
    secret: str = Field(default="s", exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def label(self) -> str:
        return f"<{self.name}>"


@dataclass
class Point:
    x: float
    when: datetime.date


class Named:
    def __str__(self) -> str:
        return "a named thing \ud800"


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Text(str):
    """A string of a kind of its own."""


def lazily() -> Iterator[int]:
    yield 1
    yield 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (5, "5"),
        (1.5, "1.5"),
        ({}, "{}"),
        ([], "[]"),
        ({"a": [1, None, "ü"], 2: True}, '{"a":[1,null,"ü"],"2":true}'),
        ((1, "a"), '[1,"a"]'),
        (lazily(), "[1,2]"),
        (Item(name="tea"), '{"name":"tea","price":"1.50","label":"<tea>"}'),
        ([Item(name="tea")], '[{"name":"tea","price":"1.50","label":"<tea>"}]'),
        (Point(1.0, datetime.date(2026, 1, 2)), '{"x":1.0,"when":"2026-01-02"}'),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.timedelta(seconds=90), "PT1M30S"),
        (Decimal("0.10"), "0.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Path("a/b"), "a/b"),
        (Text("kind of text"), "kind of text"),
        (float("nan"), "NaN"),
        ([float("inf")], '["Infinity"]'),
        (b"\x00\xff", "(2 bytes of binary data, not shown)"),
        (b"plain", "(5 bytes of binary data, not shown)"),
        (bytearray(3), "(3 bytes of binary data, not shown)"),
        (memoryview(bytes(8)).cast("i"), "(8 bytes of binary data, not shown)"),
        ({"image": b"\xff\xd8", "ok": 1}, '{"image":"(2 bytes of binary data, not shown)","ok":1}'),
        (ValueError("wrong"), "wrong"),
        (Named(), "a named thing �"),
        ([Named()], '["a named thing �"]'),
    ],
)
def test_each_kind_of_value_has_its_text(value: object, text: str) -> None:
    assert render_output(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("nul \x00 stays", "nul \x00 stays"),
        ("lone \ud800 goes", "lone � goes"),
        ("\udc00\ud800", "��"),
        ("\ud83d\ude00 joins", "😀 joins"),
        ("emoji 👩‍👩‍👧 stay", "emoji 👩‍👩‍👧 stay"),
        ({"k\ud800": ["v\ud800", {"n": "\x00"}]}, '{"k�":["v�",{"n":"\\u0000"}]}'),
        (Item(name="\ud800"), '{"name":"�","price":"1.50","label":"<�>"}'),
        (Text("\ud800"), "�"),
    ],
)
def test_nul_stays_and_lone_surrogates_become_replacement_characters(value: object, text: str) -> None:
    assert render_output(value) == text


def test_a_line_of_a_megabyte_passes_whole() -> None:
    line = "é" * 1_000_000

    assert render_output(line) == line
    assert render_output([line]) == f'["{line}"]'


def cyclic() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def deep() -> list[Any]:
    inside: list[Any] = []
    for _ in range(100_000):
        inside = [inside]
    return inside


@pytest.mark.parametrize(
    ("value", "kind"), [(Hostile(), "Hostile"), ({"a": Hostile()}, "dict"), (cyclic(), "list"), (deep(), "list")]
)
def test_what_can_not_be_shown_is_named(value: object, kind: str) -> None:
    assert render_output(value).startswith(f"(The output is a {kind} that can't be shown as text: ")


class Leaver:
    def __str__(self) -> str:
        raise SystemExit(3)


def test_an_output_that_calls_for_the_end_of_the_process_is_named() -> None:
    assert render_output(Leaver()) == "(The output is a Leaver that can't be shown as text: SystemExit)"


def test_an_iterator_without_an_end_is_cut_with_a_visible_mark() -> None:
    items, _, mark = render_output(itertools.repeat(7)).partition("\n")

    assert items == f"[{'7,' * (MOST_ITEMS - 1)}7]"
    assert mark == "[cut: the output is an iterator, of which the first 100000 items were taken]"
    assert render_output(iter([7] * MOST_ITEMS)) == items


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "Lu"]))
    | st.binary()
    | st.dates()
    | st.decimals()
    | st.just(Hostile())
    | st.just(Named())
)
KEYS = st.text(st.characters()) | st.integers() | st.none() | st.binary() | st.tuples(st.integers())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_whatever_a_tool_returns_is_valid_text(value: object) -> None:
    text = render_output(value)

    assert text.encode("utf-8").decode("utf-8") == text
