"""kill -9 while a read or a model call is under way: it is made again, and nothing that was finished is."""

import asyncio
import time

import pytest

from surefoot.client import Client
from surefoot.job import Job
from tests.crash.processes import Workers
from tests.waiting import until
from workflows.contracts import Outcome

pytestmark = pytest.mark.crash


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 30)


@pytest.mark.parametrize(
    ("point", "visit", "effects"),
    [("rule-read", 2, ["read a"]), ("begin-a", 1, ["read a"]), ("end-a", 1, ["read a", "read a"])],
    ids=["before it is called", "in its beginning", "before its result is recorded"],
)
async def test_a_read_that_was_killed_is_made_again(
    workers: Workers, client: Client, point: str, visit: int, effects: list[str]
) -> None:
    workers.stop(point, visit)
    worker = await workers.start()
    job = await client.start("reader", "go")
    await workers.reached(point)
    await worker.kill()
    await workers.start()
    outcome = await soon(job)

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["value of a"]
    assert workers.effects() == effects
    assert workers.model_calls("reader") == [0, 1]


async def test_of_parallel_reads_only_the_killed_one_is_made_again(workers: Workers, client: Client) -> None:
    workers.stop("end-b")
    worker = await workers.start()
    job = await client.start("reader-of-two", "go")
    await workers.reached("end-b")
    await until(job.view, lambda view: view.usage.tool_calls == 1)
    await worker.kill()
    await workers.start()
    outcome = await soon(job)

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["value of a", "value of b"]
    assert sorted(workers.effects()) == ["read a", "read b", "read b"]


async def test_a_model_call_that_was_killed_is_made_exactly_once_more(workers: Workers, client: Client) -> None:
    workers.stop("model-thinker-0")
    worker = await workers.start()
    job = await client.start("thinker", "go")
    await workers.reached("model-thinker-0")
    await worker.kill()
    await workers.start()
    began = time.monotonic()
    outcome = await soon(job)

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert workers.model_calls("thinker") == [0, 0]
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts, outcome.usage.unmeasured) == (1, 1, 1)
    assert time.monotonic() - began < 8
