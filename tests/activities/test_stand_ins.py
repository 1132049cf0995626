"""A list of models: which one is asked when others are out of order, and what the reply says of that."""

from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.agents import Agent
from activities.apps import App
from activities.models import stand_ins
from activities.providers.errors import Overloaded, RateLimited
from activities.providers.scripted import Script
from activities.timing import Timing
from tests.activities.callers import caller_of
from tests.activities.heartbeats import Server, environment
from tests.conftest import Host
from tests.workflows.scripting import kinds
from workflows.contracts import CallModel, Message, ModelReply

SECOND = {"text": "second", "model": "second"}
THIRD = {"text": "third", "model": "third"}


def fails(kind: str, delay: float | None = None) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": "not now", "delay": delay}}


class Worker:
    """A worker whose agent has a list of models, one script each."""

    def __init__(self, *replies: dict[str, Any], attempts: int = 2) -> None:
        app = App([Agent("asker", [Script([reply, {**reply, "repeat": True}]) for reply in replies], model_timeout=1)])
        self._caller = caller_of(app, Timing(model_attempts=attempts))
        self.left: dict[str, Any] = {}

    async def attempt(self, *, other_call: bool = False) -> ModelReply:
        """One attempt of the same call as before, or the first one of another call."""
        left = {} if other_call else self.left
        server = Server()
        env = environment(server, attempt=2 if left else 1, left=[left])
        try:
            request = CallModel(agent="asker", turn=1, new=[Message(text="hi")], length=1)
            return await env.run(self._caller.call_model, request)
        finally:
            self.left = server.beats[-1] if server.beats else left

    async def failure(self, **given: bool) -> ApplicationError:
        with pytest.raises(ApplicationError) as raised:
            await self.attempt(**given)
        return raised.value


@pytest.mark.parametrize("kind", ["Overloaded", "RateLimited", "QuotaExhausted", "TimedOut"])
async def test_when_a_model_is_out_of_order_the_next_one_answers_at_once(kind: str) -> None:
    worker = Worker(fails(kind), SECOND)

    failure = await worker.failure()
    reply = await worker.attempt()

    assert (failure.type, failure.non_retryable) == (kind, False)
    assert failure.next_retry_delay is not None
    assert failure.next_retry_delay.total_seconds() == 0.001
    assert (reply.turn.text, reply.turn.model) == ("second", "second")
    assert reply.instead_of == [f"a script ({kind}: not now)"]
    assert reply.failed_attempts == 1


async def test_a_model_that_does_not_answer_in_time_is_stood_in_for() -> None:
    worker = Worker({"text": "late", "seconds": 30}, SECOND)

    failure = await worker.failure()
    reply = await worker.attempt()

    assert failure.type == "TimedOut"
    assert reply.instead_of == ["a script (TimedOut: no answer within 1 seconds)"]


async def test_other_calls_do_not_wait_for_the_same_outage() -> None:
    worker = Worker(fails("Overloaded"), SECOND)
    await worker.failure()

    reply = await worker.attempt(other_call=True)

    assert reply.turn.text == "second"
    assert reply.instead_of == ["a script (out of order a moment before, for another call)"]
    assert reply.failed_attempts == 0


@pytest.mark.parametrize("kind", ["Rejected", "Unauthenticated", "NotFound", "Refused", "ContextTooLong"])
async def test_what_is_wrong_with_the_request_or_the_key_is_told_and_no_other_model_is_asked(kind: str) -> None:
    worker = Worker(fails(kind), SECOND)

    failure = await worker.failure()

    assert (failure.type, failure.non_retryable) == (kind, True)


async def test_when_all_are_out_of_order_each_is_asked_again_after_a_wait_and_as_often_as_one_alone() -> None:
    worker = Worker(fails("Overloaded"), fails("Overloaded"), THIRD, attempts=1)
    first, second = await worker.failure(), await worker.failure()
    third = await worker.attempt()

    alone = Worker(fails("Overloaded"), fails("Overloaded"), attempts=2)
    waits = [await alone.failure() for _ in range(4)]

    assert (first.non_retryable, second.non_retryable, third.turn.text) == (False, False, "third")
    assert len(third.instead_of) == 2
    assert [failure.non_retryable for failure in waits] == [False, False, False, True]
    assert waits[1].next_retry_delay is not None
    assert waits[1].next_retry_delay.total_seconds() >= 0.5


def test_a_model_is_passed_over_for_a_while_that_its_provider_may_name(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("activities.models.stand_ins.time.monotonic", lambda: now)
    known = stand_ins.StandIns()
    models = ["a:1", "b:2"]
    known.fails("a:1", Overloaded("full"))
    known.fails("b:2", RateLimited("slow down", delay=300))
    soonest = known.choose(models)
    now += stand_ins.SECONDS
    again, other = known.choose(models), known.has_other(["b:2"])
    known.fails("a:1", RateLimited("slow down", delay=99_999))
    now += stand_ins.LONGEST

    assert (soonest, again, other) == (0, 0, False)
    assert (known.choose(models), known.has_other(models)) == (0, True)


async def test_the_outcome_of_a_job_says_which_model_stood_in_for_which(host: Host) -> None:
    down = Script([fails("Overloaded"), {**fails("Overloaded"), "repeat": True}])
    async with host(Agent("asker", [down, Script([SECOND])])) as client:
        job = await client.start("asker", "hi")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer, kinds(transcript)) == ("complete", "second", "MT")
    assert outcome.stand_ins == ["second for a script (Overloaded: not now)"]
    assert outcome.usage.failed_attempts == 1
