"""An app's own check of an answer: what it is shown, and that nothing it does passes an answer by accident."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.models import answer_check
from activities.models.answer_check import FinalAnswer, final_answer, problem_of
from activities.providers.scripted import Script
from activities.threads import Threads
from workflows.contracts import Message, Result

FOUND = Result(call="c1-1", tool="find", content="seven")
LOST = Result(call="c2-1", tool="find", content="no such thing", status="error")


@pytest.fixture
def threads() -> Iterator[Threads]:
    with Threads(2) as pool:
        yield pool


def test_it_is_shown_the_results_and_which_of_them_the_text_refers_to() -> None:
    answer = final_answer("lost [#c2-1, #c9-1], seven [#c1-1]", {"n": 7}, [Message(text="go"), FOUND, LOST])

    assert answer == FinalAnswer(
        text="lost [#c2-1, #c9-1], seven [#c1-1]",
        output={"n": 7},
        results=(FOUND, LOST),
        cited=(LOST, FOUND),
        unknown=("c9-1",),
    )
    assert [result.is_error for result in answer.cited] == [True, False]


async def test_none_means_that_the_answer_may_stand_and_a_text_that_it_may_not(threads: Threads) -> None:
    assert await problem_of(lambda answer: None, FinalAnswer("7"), threads) is None
    assert await problem_of(lambda answer: f"{answer.text} is odd", FinalAnswer("7"), threads) == "7 is odd"


@pytest.mark.parametrize("returned", [True, False, "", " ", 0, ["wrong"]])
async def test_whatever_else_it_returns_is_a_problem(returned: Any, threads: Threads) -> None:
    problem = await problem_of(lambda answer: returned, FinalAnswer("7"), threads)

    assert problem is not None
    assert problem.startswith("The answer could not be checked: the check returned ")


@pytest.mark.parametrize("error", [ValueError("it is odd"), SystemExit(3), StopIteration(), KeyboardInterrupt()])
async def test_whatever_it_raises_is_a_problem(error: BaseException, threads: Threads) -> None:
    def check(answer: FinalAnswer) -> str | None:
        raise error

    problem = await problem_of(check, FinalAnswer("7"), threads)

    assert problem is not None
    assert problem.startswith("The answer could not be checked: ")


async def test_one_that_hangs_is_a_problem(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_check, "SECONDS", 0.01)
    release = threading.Event()

    problem = await problem_of(lambda answer: str(release.wait()), FinalAnswer("7"), threads)
    release.set()

    assert problem == "The answer could not be checked: the check took more than 0.01 seconds."


async def test_what_it_says_is_bounded(threads: Threads) -> None:
    problem = await problem_of(lambda answer: "x" * 9_000, FinalAnswer("7"), threads)

    assert problem is not None
    assert len(problem) == 2_000


async def later(answer: FinalAnswer) -> str | None:
    return None


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (later, "which is async"),
        ("odd", "which is no function"),
        (lambda: None, "can't be called with one FinalAnswer"),
        (lambda answer, results: None, "can't be called with one FinalAnswer"),
    ],
)
def test_what_can_be_no_check_is_refused_when_the_app_is_loaded(check: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        Agent("a", Script([]), check=check)
