"""What a server refuses is said in words, and a question that came at a bad moment is asked again."""

from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from surefoot.asking import ask
from surefoot.errors import NoWorker, SurefootError
from surefoot.rpc import reaching

FULL = RPCError(
    "consistent query buffer is full, this may be caused by too many queries and workflow not able to process query"
    " fast enough",
    RPCStatusCode.RESOURCE_EXHAUSTED,
    b"",
)


class Asked:
    """A job's handle: each question is answered by the next of `answers`, an error by being raised."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    async def query(self, name: str, **options: Any) -> object:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def asked(handle: Asked) -> object:
    return await ask(cast("WorkflowHandle[Any, Any]", handle), "progress", str, timedelta(seconds=1))


def test_too_many_questions_for_one_worker_are_told_in_words() -> None:
    said = r"^too many questions wait for the worker of job j, .* Try again in a moment"

    with pytest.raises(NoWorker, match=said), reaching("j"):
        raise FULL


def test_another_limit_of_the_server_is_not_taken_for_a_worker_that_hangs() -> None:
    error = RPCError("grpc: received message larger than max", RPCStatusCode.RESOURCE_EXHAUSTED, b"")

    with pytest.raises(SurefootError, match="larger than max") as raised, reaching("j"):
        raise error

    assert type(raised.value) is SurefootError


async def test_a_question_for_which_there_was_no_place_is_asked_again() -> None:
    handle = Asked(FULL, FULL, "running")

    assert await asked(handle) == "running"
    assert handle.answers == []


async def test_three_times_no_place_is_the_answer() -> None:
    handle = Asked(FULL, FULL, FULL, "running")

    with pytest.raises(RPCError, match="query buffer is full"):
        await asked(handle)
    assert handle.answers == ["running"]
