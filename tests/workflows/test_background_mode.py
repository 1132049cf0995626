"""Background mode on a real server: whatever happens to an attempt, what was begun is paid for once and waited for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from activities.agents import Agent
from tests.conftest import QUICK, Host
from tests.responses_server import ResponsesServer, responses_server
from tests.waiting import until

IN_BACKGROUND = {"background": True}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ResponsesServer]:
    async with responses_server() as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield server


async def test_a_worker_that_stops_leaves_its_response_to_the_next_one(host: Host, server: ResponsesServer) -> None:
    thinker = Agent("thinker", "openai:gpt-5", settings=IN_BACKGROUND)
    async with host(thinker) as client:
        job = await client.start("thinker", "go")
        await until(server.looks)
    server.done = True
    async with host(thinker):
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert (server.posts, await server.stopped()) == (1, [])
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.model_calls) == (20, 5, 1)


async def test_attempts_that_fail_or_run_out_of_time_poll_on(host: Host, server: ResponsesServer) -> None:
    server.failing = 2
    thinker = Agent("thinker", "openai:gpt-5", settings=IN_BACKGROUND, model_timeout=1.0)
    async with host(thinker, settings=replace(QUICK, model_attempts=50)) as client:
        job = await client.start("thinker", "go")
        await until(server.looks, lambda looks: looks >= 5)
        server.done = True
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert (outcome.status, outcome.answer, server.posts) == ("complete", "done", 1)
    assert outcome.usage.failed_attempts >= 3
    assert await server.stopped() == []


async def test_a_job_that_is_cancelled_stops_its_response(host: Host, server: ResponsesServer) -> None:
    async with host(Agent("thinker", "openai:gpt-5", settings=IN_BACKGROUND)) as client:
        job = await client.start("thinker", "go")
        await until(server.looks)
        await job.cancel()
        outcome = await asyncio.wait_for(job.outcome(), 30)
        stopped = await until(server.stopped)

    assert (outcome.status, server.posts, stopped) == ("cancelled", 1, ["resp_1"])


async def test_an_answer_that_can_not_be_read_is_begun_anew(host: Host, server: ResponsesServer) -> None:
    server.texts, server.done = ["more than a turn takes " * 100_000, "done"], True
    thinker = Agent("thinker", "openai:gpt-5", settings=IN_BACKGROUND)
    async with host(thinker) as client:
        outcome = await asyncio.wait_for((await client.start("thinker", "go")).outcome(), 30)

    assert (outcome.status, outcome.answer, server.posts) == ("complete", "done", 2)
    assert outcome.usage.failed_attempts == 1


async def test_what_was_begun_at_one_model_is_not_asked_of_its_stand_in(host: Host, server: ResponsesServer) -> None:
    server.failing = 1
    thinker = Agent("thinker", ["openai:gpt-5", "openai:gpt-4"], settings=IN_BACKGROUND)
    async with host(thinker) as client:
        job = await client.start("thinker", "go")
        await until(server.looks, lambda looks: looks >= 2)
        server.done = True
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert outcome.status == "complete"
    assert [line for line in server.seen if line.startswith("POST")] == ["POST /v1/responses"] * 2
    assert server.seen.index("GET /v1/responses/resp_2") > 2
    assert len(outcome.stand_ins) == 1
