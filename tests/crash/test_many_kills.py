"""A worker that dies again and again, as a bad deploy does, uses up nobody's attempts."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers

pytestmark = pytest.mark.crash
KILLS = 10


async def test_after_ten_kills_in_a_row_neither_a_read_nor_a_model_call_is_given_up(
    workers: Workers, client: Client
) -> None:
    visits = range(1, KILLS + 1)
    workers.stop("begin-a", *visits)
    workers.stop("model-thinker-0", *visits)
    reading = await client.start("reader", "go")
    thinking = await client.start("thinker", "go")
    for visit in visits:
        worker = await workers.start()
        await workers.reached("begin-a", visit)
        await workers.reached("model-thinker-0", visit)
        await worker.kill()
    await workers.start()
    read, thought = await asyncio.wait_for(asyncio.gather(reading.outcome(), thinking.outcome()), 30)

    assert (read.status, thought.status) == ("complete", "complete")
    assert [(finding.content, finding.is_error) for finding in read.findings] == [("value of a", False)]
    assert workers.effects() == ["read a"]
    assert workers.model_calls("thinker") == [0] * (KILLS + 1)
    assert thought.usage.failed_attempts == KILLS
