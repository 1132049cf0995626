"""kill -9 while sub-agents work: each child is one child, whose steps happen once, and what it asks is asked once."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers
from tests.workflows.families import child, child_waits, has_child
from workflows.contracts import Resolution

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
    assert 2 <= workers.effects().count("read a") <= 4  # a read whose end the server did not see is tried again


@pytest.mark.parametrize("way", ["cancel", "stop", "resolve"])
async def test_a_childs_write_that_was_killed_is_never_made_again_however_its_parent_goes_on(
    workers: Workers, client: Client, way: str
) -> None:
    workers.stop("charged-1", 1)
    worker = await workers.start()
    job = await client.start("boss", "go")
    await workers.reached("charged-1")
    await worker.kill()
    workers.let_go("charged-1")
    worker = await workers.start()
    (pending,) = (await child_waits(client, job)).pending
    await worker.kill()
    worker = await workers.start()
    if way == "resolve":
        word = Resolution(call=pending.call, choice="happened", result="charged 1", by="ann")
        await child(client, job).resolve(word)
    else:
        await (job.cancel() if way == "cancel" else job.stop(by="ann"))
    first = await asyncio.wait_for(job.outcome(), 60)
    inbox = [item for item in await client.inbox() if job.id in (item.job, item.root)]  # others may wait as well
    await worker.kill()
    await workers.start()
    last = await asyncio.wait_for((await client.reply(job.id, "and now?")).outcome(), 60)

    assert (pending.kind, inbox) == ("unknown_outcome", [])
    assert workers.effects() == ["charge 1"]
    assert ("may or may not have happened" in first.findings[0].content) is (way != "resolve")
    assert last.status == "complete"
