"""call_model, one attempt at a time: what a failure is told as, and when the next attempt may come."""

from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.agents import Agent
from activities.apps import App
from activities.models.asker import LONGEST_DELAY
from activities.providers.scripted import Script
from activities.timing import Timing
from tests.activities.callers import caller_of
from tests.activities.heartbeats import Server, environment
from workflows.contracts import CallModel, Message, ModelReply


async def call(
    reply: dict[str, Any],
    *,
    agent: str = "asker",
    attempt: int = 1,
    failures: int = 0,
    settings: dict[str, JsonValue] | None = None,
    **timing: Any,
) -> ModelReply:
    app = App([Agent("asker", Script([reply]), model_timeout=1, settings=settings)])
    caller = caller_of(app, Timing(**timing))
    request = CallModel(agent=agent, turn=1, new=[Message(text="hi")], length=1)
    env = environment(Server(), attempt=attempt, left=[{"failures": failures}])
    return await env.run(caller.call_model, request)


async def failed(reply: dict[str, Any], **given: Any) -> ApplicationError:
    with pytest.raises(ApplicationError) as raised:
        await call(reply, **given)
    return raised.value


def error(kind: str, delay: float | None = None) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": "not now", "delay": delay}}


@pytest.mark.parametrize(("asked", "seconds"), [(30, 30.0), (999_999, LONGEST_DELAY)])
async def test_the_delay_of_a_provider_is_kept_up_to_a_bound(asked: float, seconds: float) -> None:
    failure = await failed(error("RateLimited", asked))

    assert failure.next_retry_delay is not None
    assert failure.next_retry_delay.total_seconds() == seconds


@pytest.mark.parametrize("asked", [None, 0, -5])
async def test_without_a_delay_of_its_own_each_failure_doubles_the_wait(asked: float | None) -> None:
    failure = await failed(error("Overloaded", asked), failures=3, retry_seconds=1.0)

    assert failure.next_retry_delay is not None
    assert 4.0 <= failure.next_retry_delay.total_seconds() <= 8.0


@pytest.mark.parametrize(
    ("kind", "failures", "final"),
    [("Overloaded", 0, False), ("Overloaded", 1, True), ("Rejected", 0, True), ("MalformedAnswer", 0, False)],
)
async def test_only_what_a_retry_can_heal_is_tried_again(kind: str, failures: int, final: bool) -> None:
    failure = await failed(error(kind), failures=failures, model_attempts=2)

    assert (failure.type, failure.message, failure.non_retryable) == (kind, "not now", final)


@pytest.mark.parametrize(
    ("kind", "said", "advice"),
    [
        (
            "Rejected",
            "HTTP 400: `temperature` is deprecated for this model.",
            " (the agent's settings hold temperature=0.2: change that, or take it out for this model)",
        ),
        (
            "Rejected",
            "HTTP 400: `temperature` and `top_p` cannot both be specified",
            " (the agent's settings hold temperature=0.2, top_p=0.9: change that, or take it out for this model)",
        ),
        (
            "Rejected",
            "HTTP 400: top_p.value: Extra inputs are not permitted",
            " (the agent's settings hold top_p=0.9: change that, or take it out for this model)",
        ),
        (
            "Rejected",
            'HTTP 400: "temperature.type.disabled" is not supported',
            " (the agent's settings hold temperature=0.2: change that, or take it out for this model)",
        ),
        ("Rejected", "HTTP 400: 'temperature_unit' is unknown, and max-temperature: too", ""),
        ("Rejected", "HTTP 400: the message talks of temperature and top_p", ""),
        ("ContextTooLong", "the prompt and top_p are too long", ""),
        ("Overloaded", "HTTP 529: temperature", ""),
    ],
)
async def test_a_rejection_that_names_a_setting_says_that_it_is_the_agents(kind: str, said: str, advice: str) -> None:
    reply = {"error": {"kind": kind, "message": said}}
    failure = await failed(reply, settings={"temperature": 0.2, "top_p": 0.9})

    assert failure.message == said + advice


async def test_an_answer_that_takes_too_long_is_tried_again() -> None:
    failure = await failed({"text": "late", "seconds": 30})

    assert (failure.type, failure.message) == ("TimedOut", "no answer within 1 seconds")
    assert not failure.non_retryable


async def test_an_agent_that_this_worker_does_not_know_is_looked_for_again() -> None:
    failure = await failed({"text": "hi"}, agent="gone")

    assert (failure.type, failure.non_retryable) == ("UnknownAgent", False)


async def test_every_earlier_attempt_is_counted_also_one_that_was_interrupted() -> None:
    reply = await call({"text": "hi"}, attempt=4, failures=1)

    assert reply.failed_attempts == 3
