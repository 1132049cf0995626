"""Faults of a record in one line, without the value that has them."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workflows.faults import PLACE_CHARS, faults_of


class Counted(BaseModel):
    numbers: list[int]
    few: dict[str, int] = {}

    @field_validator("few")
    @classmethod
    def _is_few(cls, given: dict[str, int]) -> dict[str, int]:
        if len(given) > 1:
            raise ValueError("give one at most")
        return given


def faults(value: object, whole: str = "value") -> str:
    with pytest.raises(ValidationError) as raised:
        Counted.model_validate(value)
    return faults_of(raised.value, whole)


def test_each_fault_has_its_place_and_the_value_is_not_repeated() -> None:
    text = "numbers.1: it has to be a whole number"

    assert faults({"numbers": [1, "secret"]}) == text


def test_words_of_our_own_validators_stand_alone() -> None:
    assert faults({"numbers": [], "few": {"a": 1, "b": 2}}) == "few: give one at most"


def test_the_record_itself_has_the_name_that_it_is_given() -> None:
    assert faults(None, "Counted") == "Counted: it has to be a JSON object"


def test_there_are_five_at_most_and_their_places_are_bounded() -> None:
    many = faults({"numbers": [None] * 8})
    wide = faults({"numbers": [], "few": {"x" * 10_000: None}})

    assert many.count("it has to be a whole number") == 5
    assert many.endswith("; 3 more")
    assert wide.startswith(f"{('few.' + 'x' * PLACE_CHARS)[:PLACE_CHARS]}: ")


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: float = Field(default=1, ge=0.5, le=2)
    name: str = Field(default="x", min_length=1, max_length=3)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inner: Inner | None = None
    many: list[Inner] = []
    way: Literal["up", "down"] = "up"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"innner": {}}, "innner: there is no such field, but inner, many, way"),
        ({"inner": {"sise": 1}}, "inner.sise: there is no such field, but size, name"),
        ({"many": [{"sise": 1}]}, "many.0.sise: there is no such field"),
        ({"inner": {"size": "big"}}, "inner.size: it has to be a number"),
        ({"inner": {"size": 0}}, "inner.size: it has to be 0.5 or more"),
        ({"inner": {"size": 3}}, "inner.size: it has to be 2 or less"),
        ({"inner": {"name": ""}}, "inner.name: it has to have at least 1 character"),
        ({"inner": {"name": "long"}}, "inner.name: it may have at most 3 characters"),
        ({"way": "left"}, "way: it has to be 'up' or 'down'"),
        ({"many": 1}, "many: it has to be a list"),
    ],
)
def test_faults_are_told_in_plain_words_and_unknown_fields_with_the_known_ones(value: object, said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate(value)

    assert faults_of(raised.value, "value", Outer) == said
