"""What came in from outside is exactly one well-formed word of bounded size, or refused."""

from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from workflows.contracts import Decision, JobStart, Record, Resolution, Steer
from workflows.received import NAME_CHARS, WORD_BYTES, received, received_start

GOOD = {"call": "c1-1", "digest": "d", "choice": "approve"}


def refused(kind: type[Record], *sent: Any) -> tuple[str | None, str]:
    with pytest.raises(ApplicationError) as caught:
        received(kind, sent)
    assert caught.value.non_retryable
    return caught.value.type, caught.value.message


def test_one_word_is_read() -> None:
    assert received(Decision, [GOOD]) == Decision(call="c1-1", digest="d", choice="approve")
    assert received(Resolution, [{"call": "c", "choice": "give_up"}]) == Resolution(call="c", choice="give_up")
    assert received(Steer, [{"id": "1", "text": "more"}]) == Steer(id="1", text="more")


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ([], "a decision is one JSON object, and 0 values came; nothing was executed"),
        ([GOOD, GOOD], "a decision is one JSON object, and 2 values came; nothing was executed"),
        ([{**GOOD, "expires": 5, "ask": 1}], "this is no decision: it has ask, expires, which no decision has; "
         "its fields are call, digest, choice, arguments, text, by, roles, grant; nothing was executed"),
        ([{"call": "c1-1"}], "this is no decision: digest: it is missing; choice: it is missing; "
         "nothing was executed"),
        ([{**GOOD, "choice": "yes"}], "this is no decision: choice: it has to be 'approve', 'answer' or 'deny'; "
         "nothing was executed"),
        ([{**GOOD, "call": 1}], "this is no decision: call: it has to be a text; nothing was executed"),
        ([RawValue(Payload())], "this is no decision: value: it has to be a JSON object; "
         "nothing was executed"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_wrong(sent: list[Any], why: str) -> None:
    assert refused(Decision, *sent) == ("NotAllowed", why)


def test_names_and_words_are_bounded() -> None:
    received(Decision, [{**GOOD, "by": "x" * NAME_CHARS, "text": "x" * (WORD_BYTES - 1000)}])

    assert refused(Decision, {**GOOD, "by": "x" * (NAME_CHARS + 1)}) == (
        "NotAllowed", f"by of this decision has {NAME_CHARS + 1} characters, at most {NAME_CHARS} fit",
    )  # fmt: skip
    kind, text = refused(Decision, {**GOOD, "text": "é" * (WORD_BYTES // 2)})
    assert kind == "TooLarge"
    assert f"at most {WORD_BYTES} fit; nothing was executed" in text


def test_a_start_is_read_and_its_unknown_fields_are_left_to_newer_versions() -> None:
    assert received_start([{"agent": "a", "message": "go", "of_tomorrow": 1}]) == JobStart(agent="a", message="go")


@pytest.mark.parametrize("sent", [[], [None], [{}], [{"agent": "a"}, {"agent": "a"}], [RawValue(Payload())]])
def test_a_start_that_is_none_raises_value_error(sent: list[Any]) -> None:
    with pytest.raises(ValueError, match="start jobs through surefoot"):
        received_start(sent)
