"""kill -9 while sub-agents work: each child is one child, whose steps happen once, and what it asks is asked once."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers
from tests.workflows.families import child, child_waits, has_child

pytestmark = pytest.mark.crash
HELPERS = ("c1-1", "c1-2")


async def test_children_whose_worker_is_killed_go_on_and_are_approved_on_the_next_one(
    workers: Workers, client: Client
) -> None:
    workers.stop("end-a", 1)
    worker = await workers.start()
    job = await client.start("chief", "go")
    await workers.reached("end-a")
    await worker.kill()
    workers.let_go("end-a")
    worker = await workers.start()
    asked = [(await child_waits(client, job, call)).pending for call in HELPERS]
    await worker.kill()
    await workers.start()
    for call, (pending,) in zip(HELPERS, asked, strict=True):
        await child(client, job, call).approve(pending.call, digest=pending.digest, by="ann")
    outcome = await asyncio.wait_for(job.outcome(), 60)
    view = await has_child(job, 2)

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["done", "done"]
    assert sorted((each.call, each.status) for each in view.children) == [(call, "complete") for call in HELPERS]
    assert workers.effects().count("refund 1") == 2
    assert 2 <= workers.effects().count("read a") <= 3  # the read that was interrupted is tried again
