"""Model calls over HTTP, by a real SDK: one that dies with its worker is made once more, one that takes long is not.

Nor is one that was begun in background mode.
"""

import asyncio
import time

import pytest

from surefoot.client import Client
from tests.crash.chat_server import chat_server
from tests.crash.processes import Workers
from tests.responses_server import responses_server
from tests.waiting import until

pytestmark = pytest.mark.crash

HEARTBEAT = 3.0
"""Long enough that a busy machine does not take the call in the second worker for dead as well."""
LONG = 7.0


async def test_a_call_whose_worker_was_killed_is_made_exactly_once_more(workers: Workers, client: Client) -> None:
    async def first_never(number: int) -> None:
        if number == 1:
            await asyncio.Event().wait()

    async with chat_server(first_never) as server:
        settings = {**server.settings, "SUREFOOT_HEARTBEAT_SECONDS": str(HEARTBEAT)}
        worker = await workers.start(**settings)
        job = await client.start("http-thinker", "go")
        await until(server.requests, seconds=30)
        await worker.kill()
        await workers.start(**settings)
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert len(server.bodies) == 2
    assert server.bodies[0] == server.bodies[1]
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts, outcome.usage.unmeasured) == (1, 1, 1)
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (20, 5)


async def test_a_healthy_call_that_outlasts_the_heartbeat_timeout_is_made_once(
    workers: Workers, client: Client
) -> None:
    async with chat_server(lambda _number: asyncio.sleep(LONG)) as server:
        await workers.start(**server.settings, SUREFOOT_HEARTBEAT_SECONDS=str(HEARTBEAT))
        job = await client.start("http-thinker", "go")
        await until(server.requests, seconds=30)
        asked = time.monotonic()
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert time.monotonic() - asked > 2 * HEARTBEAT
    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert len(server.bodies) == 1
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts, outcome.usage.unmeasured) == (1, 0, 0)


async def test_a_background_response_whose_worker_was_killed_is_polled_on_and_paid_for_once(
    workers: Workers, client: Client
) -> None:
    async with responses_server() as server:
        worker = await workers.start(**server.settings)
        job = await client.start("background-thinker", "go")
        await until(server.looks, seconds=30)
        await worker.kill()
        server.done = True
        await workers.start(**server.settings)
        outcome = await asyncio.wait_for(job.outcome(), 30)

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert server.posts == 1
    assert (outcome.usage.model_calls, outcome.usage.input_tokens, outcome.usage.output_tokens) == (1, 20, 5)
