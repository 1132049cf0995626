"""References in an answer: which there are, which are right, and what the model is told of those that are not."""

import pytest

from activities.models import citations
from workflows.contracts import Entry, Message, Result, ResultStatus, TextPart, Turn


def result(call: str, status: ResultStatus = "ok") -> Result:
    return Result(call=call, tool="look", content=f"value of {call}", status=status)


TOLD: list[Entry] = [Message(text="go"), Turn(parts=[TextPart(text="look")]), result("c1-1"), result("c1-2", "error")]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("It is 3 [#c1-1].", ["c1-1"]),
        ("Both [#c1-2, #c1-1] and again [#c1-1]", ["c1-2", "c1-1"]),
        ("[#c1-1][#c1-2]; not (#c1-3), #c1-4, [c1-5] or [# c1-6]", ["c1-1", "c1-2"]),
        ('{"answer": "3 [#c1-1]"}', ["c1-1"]),
        ("", []),
    ],
)
def test_references_stand_in_brackets_with_a_hash(text: str, calls: list[str]) -> None:
    assert citations.cited(text) == calls


def test_each_result_is_told_under_its_reference_and_nothing_else_is_changed() -> None:
    marked = citations.marked(TOLD)

    assert marked[:2] == TOLD[:2]
    assert [entry.content for entry in marked if isinstance(entry, Result)] == [
        "[#c1-1]\nvalue of c1-1",
        "[#c1-2]\nvalue of c1-2",
    ]


def test_references_to_results_that_there_are_are_right_also_to_failed_ones() -> None:
    assert citations.check("3 [#c1-1], and it failed [#c1-2]", TOLD) == (["c1-1", "c1-2"], None)


def test_a_reference_to_no_result_is_named_beside_those_that_there_are() -> None:
    assert citations.check("3 [#c1-1] and 4 [#c9-9]", TOLD) == (
        ["c1-1"],
        "There is no result [#c9-9]. The references are: [#c1-1], [#c1-2].",
    )


def test_an_answer_without_references_is_wrong_only_where_a_tool_returned_something() -> None:
    said = citations.check("It is 3.", TOLD)

    assert said == (
        [],
        "The answer refers to no result, though tools returned some. The references are: [#c1-1], [#c1-2].",
    )
    assert citations.check("Hello.", TOLD[:2]) == ([], None)
    assert citations.check("It failed.", [result("c1-2", "denied")]) == ([], None)


def test_a_reference_where_no_tool_was_called_is_made_up() -> None:
    assert citations.check("3 [#c1-1]", TOLD[:1]) == (
        [],
        "There is no result [#c1-1]. The references are: none, since no tool was called.",
    )
