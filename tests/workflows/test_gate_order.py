"""A turn with several calls: reads at once, writes in the model's order, decisions in any order, results in order."""

import asyncio

from activities.tools.tool import tool
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer


async def test_reads_of_a_turn_run_at_once_while_its_write_waits(host: Host) -> None:
    ledger = Ledger()
    both = asyncio.Barrier(2)

    @tool(read_only=True)
    async def find(key: str) -> str:
        """Find something."""
        await both.wait()
        return f"found {key}"

    calls = [call("find", key="a"), call("find", key="b"), call("save", key="c")]
    async with host(writer("w", calls, tools=[ledger.tool(), find])) as client:
        job, (pending,) = await started(client, "w")
        early = await until(job.transcript, lambda entries: len(results(entries)) == 2)
        await job.approve(pending.call, by="ann")
        await ended(job)
        said = results(await job.transcript())

    assert [r.content for r in results(early)] == ["found a", "found b"]
    assert [(r.call, r.content) for r in said] == [
        ("c1-1", "found a"), ("c1-2", "found b"), ("c1-3", "save c done"),
    ]  # fmt: skip


async def test_reads_behind_a_write_that_waits_are_held_back(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool(), ledger.tool("find", read_only=True)]
    calls = [call("find", key="a"), call("save", key="b"), call("find", key="c")]
    async with host(writer("w", calls, tools=tools)) as client:
        job, (pending,) = await started(client, "w")
        await until(job.transcript, lambda entries: len(results(entries)) == 1)
        before = list(ledger.written)
        await job.approve(pending.call, by="ann")
        await ended(job)

    assert before == ["find a"]
    assert ledger.written == ["find a", "save b", "find c"]


async def test_writes_run_in_the_models_order_whatever_order_they_were_decided_in(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key=key) for key in "abc"]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (a, b, c) = await started(client, "w", 3)
        await job.approve(c.call, by="ann")
        two = await waiting(job, 2)
        await job.approve(b.call, by="ann")
        (one,) = await waiting(job)
        view = await job.view()
        before = list(ledger.written)
        await job.approve(a.call, by="ann")
        await ended(job)
        said = results(await job.transcript())

    assert [p.call for p in two] == [a.call, b.call]
    assert one.call == a.call
    assert [(d.call, d.performed) for d in view.decided] == [(c.call, False), (b.call, False)]
    assert before == []
    assert ledger.written == ["save a", "save b", "save c"]
    assert [r.content for r in said] == ["save a done", "save b done", "save c done"]


async def test_an_approved_call_leaves_the_inbox_and_runs_once_while_its_sibling_waits(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("save", key="b")]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (a, b) = await started(client, "w", 2)
        await job.approve(a.call, by="ann")
        await until(job.view, lambda view: [d.performed for d in view.decided] == [True])
        items = await until(client.inbox, lambda items: [i.call for i in items if i.job == job.id] == [b.call])
        before = list(ledger.written)
        await job.approve(b.call, by="ann")
        await ended(job)

    assert [item.arguments for item in items if item.job == job.id] == [{"key": "b"}]
    assert before == ["save a"]
    assert ledger.written == ["save a", "save b"]


async def test_calls_of_many_jobs_are_decided_independently(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        jobs = await asyncio.gather(*(started(client, "w") for _ in range(5)))
        await jobs[3][0].approve("c1-1", by="ann")
        last = await ended(jobs[3][0])
        others = [await job.view() for job, _ in jobs if job is not jobs[3][0]]
        for job, _ in jobs:
            if job is not jobs[3][0]:
                await job.cancel()
                await ended(job)

    assert last.state == "ended"
    assert [view.state for view in others] == ["waiting"] * 4
    assert ledger.written == ["save a"]
