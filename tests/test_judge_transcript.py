"""The judge of transcripts is judged: it takes what is right, and sees each fault."""

import pytest

from tests.judge_transcript import Disorder, judge_transcript
from workflows.contracts import CallPart, Entry, Message, Note, Result, TextPart, Turn

GO = Message(text="go")
SAID = Turn(number=2, parts=[TextPart(text="done")])


def asking(*ids: str, number: int = 1) -> Turn:
    return Turn(number=number, parts=[CallPart(id=id, tool="look", arguments={}) for id in ids])


def result(call: str, tool: str = "look") -> Result:
    return Result(call=call, tool=tool, content="r")


def test_a_whole_conversation_is_in_order() -> None:
    judge_transcript([GO, asking("a", "b"), result("a"), result("b"), Note(text="n"), Message(text="m"), SAID])


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [SAID],
        [GO, asking("a")],
        [GO, asking("a"), GO, result("a")],
        [GO, asking("a"), Note(text="n"), result("a")],
        [GO, asking("a", "b"), result("b"), result("a")],
        [GO, asking("a", "b"), result("a"), SAID],
        [GO, asking("a"), result("a"), result("a")],
        [GO, asking("a"), result("a", "other")],
        [GO, result("a")],
        [GO, asking("a", "a"), result("a"), result("a")],
        [GO, asking("a"), result("a"), asking("a", number=2), result("a")],
        [GO, SAID, asking("a"), result("a")],
        [GO, Turn(number=1)],
        [GO, Note(text="")],
    ],
)
def test_each_fault_is_seen(entries: list[Entry]) -> None:
    with pytest.raises(Disorder):
        judge_transcript(entries)
