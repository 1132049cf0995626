"""Workers that are asked to stop, or cut off by a cancel, while a step runs."""

import asyncio
import time

import pytest

from surefoot.client import Client
from surefoot.job import Job
from tests.crash.processes import Workers
from tests.workflows.gated import waiting
from workflows.contracts import Outcome

pytestmark = pytest.mark.crash


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 30)


async def test_a_write_that_ends_within_the_grace_of_a_stop_is_recorded(workers: Workers, client: Client) -> None:
    workers.stop("charged-1")
    worker = await workers.start(SUREFOOT_SHUTDOWN_SECONDS="15")
    job = await client.start("charger", "go")
    await workers.reached("charged-1")
    stopping = asyncio.create_task(worker.terminate())
    await workers.said("stopping")
    workers.let_go("charged-1")
    code = await stopping
    await workers.start()
    outcome = await soon(job)

    assert code == 0
    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["charged 1"]
    assert workers.effects() == ["charge 1"]


async def test_a_write_that_outlasts_the_grace_of_a_stop_has_an_unknown_outcome(
    workers: Workers, client: Client
) -> None:
    workers.stop("charged-1")
    worker = await workers.start()
    job = await client.start("charger", "go")
    await workers.reached("charged-1")
    code = await worker.terminate()
    await workers.start()
    [pending] = await waiting(job)

    assert code == 0
    assert pending.kind == "unknown_outcome"
    assert workers.effects() == ["charge 1"]
    await job.cancel()
    assert (await soon(job)).status == "cancelled"


async def test_a_thread_that_hangs_keeps_no_worker_from_stopping(workers: Workers, client: Client) -> None:
    worker = await workers.start()
    workers.stop("blocked")
    job = await client.start("blocker", "go")
    await workers.reached("blocked")
    began = time.monotonic()
    code = await worker.terminate()
    took = time.monotonic() - began
    await workers.start()
    [pending] = await waiting(job)

    assert code == 0
    assert took < 10
    assert pending.kind == "unknown_outcome"
    await job.cancel()
    assert (await soon(job)).status == "cancelled"


async def test_a_job_cancelled_after_its_worker_died_ends_when_a_new_one_comes(
    workers: Workers, client: Client
) -> None:
    workers.stop("charged-1")
    worker = await workers.start()
    job = await client.start("charger", "go")
    await workers.reached("charged-1")
    await worker.kill()
    await job.cancel()
    await workers.start()
    outcome = await soon(job)

    assert outcome.status == "cancelled"
    assert [finding.is_error for finding in outcome.findings] == [True]
    assert workers.effects() == ["charge 1"]
