"""The form for a call's arguments: made from the tool's schema, and read back without a change nobody made."""

import enum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from activities.tools.tool import tool
from surefoot.console.argument_fields import Field, fields, read, read_json
from workflows.contracts import JsonObject
from workflows.digest import digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    floor: int | None = None


def schema() -> JsonObject:
    @tool
    def send(
        to: Address,
        text: str,
        amount: float,
        kind: Literal["a", "b"],
        colour: Colour = Colour.RED,
        note: str | None = None,
        urgent: bool = False,
        tags: list[str] | None = None,
    ) -> str:
        """Send.

        Args:
            text: what to say
        """
        return ""

    return send.arguments.schema


SENT: JsonObject = {
    "to": {"street": "Elm 1", "floor": 2},
    "text": "hello",
    "amount": 5,
    "kind": "a",
    "note": None,
    "tags": ["x"],
}


def as_sent(form: list[Field]) -> dict[str, str]:
    """What a browser sends of a form that nobody touched."""
    values = {f"a{number}": field.value.replace("\n", "\r\n") for number, field in enumerate(form)}
    return values | {f"p{number}": field.presence for number, field in enumerate(form) if len(field.presences) > 1}


def test_a_field_is_of_the_kind_that_the_schema_says() -> None:
    form = fields(schema(), SENT)

    assert [(field.label, field.kind, field.presence) for field in form] == [
        ("to › street", "text", "given"),
        ("to › floor", "number", "given"),
        ("text", "text", "given"),
        ("amount", "number", "given"),
        ("kind", "choice", "given"),
        ("colour", "choice", "absent"),
        ("note", "text", "null"),
        ("urgent", "choice", "absent"),
        ("tags", "json", "given"),
    ]
    assert form[2].help == "what to say"
    assert form[4].choices == ['"a"', '"b"']
    assert form[6].presences == ["given", "null", "absent"]


def test_without_a_schema_the_values_say_what_the_fields_are() -> None:
    form = fields({}, {"name": "x", "count": 3, "sure": True, "where": {"city": "Rome"}, "list": [1]})

    assert [(field.label, field.kind) for field in form] == [
        ("name", "text"),
        ("count", "number"),
        ("sure", "choice"),
        ("where › city", "text"),
        ("list", "json"),
    ]


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_a_form_that_nobody_touched_gives_back_the_same_arguments(arguments: JsonObject) -> None:
    form = fields({}, arguments)
    back, seen = read(form, as_sent(form))

    assert [field.problem for field in seen] == [""] * len(form)
    assert digest("t", back) == digest("t", arguments)


def test_the_same_holds_with_a_schema() -> None:
    form = fields(schema(), SENT)

    assert read(form, as_sent(form)) == (SENT, form)


def test_what_is_typed_into_a_field_that_was_absent_is_sent() -> None:
    form = fields(schema(), SENT)
    back, _ = read(form, {**as_sent(form), "a5": '"blue"', "a6": "call first", "p0": "given"})

    assert (back["colour"], back["note"]) == ("blue", "call first")


def test_a_field_can_be_left_out_or_be_null() -> None:
    form = fields(schema(), SENT)
    back, _ = read(form, {**as_sent(form), "p6": "absent", "p8": "null"})

    assert "note" not in back
    assert back["tags"] is None


@pytest.mark.parametrize(
    ("place", "text", "problem"),
    [
        ("a3", "much", "this can't be read as JSON"),
        ("a3", '"5"', "is no number"),
        ("a3", "true", "is no number"),
        ("a3", "NaN", "NaN is no JSON number"),
        ("a8", "[1,", "this can't be read as JSON"),
        ("a8", "[" * 100_000, "this can't be read as JSON"),
    ],
)
def test_what_is_no_value_is_said_at_its_field(place: str, text: str, problem: str) -> None:
    form = fields(schema(), SENT)
    _, seen = read(form, {**as_sent(form), place: text})

    found = [field for field in seen if field.problem]
    assert [field.value for field in found] == [text]
    assert problem in found[0].problem


@pytest.mark.parametrize("text", ["[1]", "null", '"x"', "5", "{", '{"a": Infinity}'])
def test_arguments_as_json_are_an_object(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON"):
        read_json(text)
