"""Numbers of things in words."""

import pytest

from workflows.counting import counted


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "round", "0 rounds"),
        (1, "round", "1 round"),
        (2, "tool call", "2 tool calls"),
        (1.0, "second", "1 second"),
        (0.5, "second", "0.5 seconds"),
        (12_500, "line", "12,500 lines"),
        (1, "more character", "1 more character"),
    ],
)
def test_one_is_said_as_one_and_all_else_as_many(count: float, noun: str, said: str) -> None:
    assert counted(count, noun) == said
