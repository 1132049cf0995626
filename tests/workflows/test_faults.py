"""Faults of a record in one line, without the value that has them."""

import pytest
from pydantic import BaseModel, ValidationError, field_validator

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
    text = "numbers.1: Input should be a valid integer, unable to parse string as an integer"

    assert faults({"numbers": [1, "secret"]}) == text


def test_words_of_our_own_validators_stand_alone() -> None:
    assert faults({"numbers": [], "few": {"a": 1, "b": 2}}) == "few: give one at most"


def test_the_record_itself_has_the_name_that_it_is_given() -> None:
    assert faults(None, "Counted") == "Counted: Input should be a valid dictionary or instance of Counted"


def test_there_are_five_at_most_and_their_places_are_bounded() -> None:
    many = faults({"numbers": [None] * 8})
    wide = faults({"numbers": [], "few": {"x" * 10_000: None}})

    assert many.count("Input should be a valid integer") == 5
    assert many.endswith("; 3 more")
    assert wide.startswith(f"{('few.' + 'x' * PLACE_CHARS)[:PLACE_CHARS]}: ")
