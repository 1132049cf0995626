"""Lists of jobs and of what waits: from the server alone, one row a job, and never out of date for long."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from surefoot import inbox
from surefoot.client import Client
from surefoot.errors import WrongValue
from surefoot.inbox import InboxItem
from surefoot.lists import JobRow
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, cli, ended, started, writer


def fresh(name: str = "w") -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


async def rows_of(client: Client, agent: str, count: int, state: str | None = None) -> list[JobRow]:
    return await until(lambda: client.jobs(agent=agent, state=state), lambda rows: len(rows) == count)


async def test_a_job_is_one_row_however_many_runs_it_had(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client:
        job = await client.start(agent, "0")
        await ended(job)
        (first,) = await until(lambda: client.jobs(agent=agent), lambda rows: [r.state for r in rows] == ["ended"])
        for number in range(3):
            await client.reply(job.id, str(number))
            await ended(job)
        (last,) = await until(
            lambda: client.jobs(agent=agent),
            lambda rows: rows[0].ended_at is not None and rows[0].ended_at > (first.ended_at or rows[0].ended_at),
        )

    assert (first.job, first.agent, first.state, first.status) == (job.id, agent, "ended", "complete")
    assert (last.job, last.state, last.status) == (job.id, "ended", "complete")
    assert last.started_at == first.started_at


async def test_a_job_that_runs_again_is_not_among_those_that_ended(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    async with host(writer(agent, [call("save", key="a")], [call("save", key="b")], tools=[ledger.tool()])) as client:
        job, _ = await started(client, agent)
        await job.cancel()
        await ended(job)
        ended_rows = await rows_of(client, agent, 1, state="ended")
        await client.reply(job.id, "go on")
        waiting_rows = await rows_of(client, agent, 1, state="waiting")
        nothing_ended = await client.jobs(agent=agent, state="ended")
        every = await client.jobs(agent=agent)
        await job.cancel()
        await ended(job)

    assert [(row.state, row.status) for row in ended_rows] == [("ended", "cancelled")]
    assert [(row.state, row.status, row.ended_at) for row in waiting_rows] == [("waiting", None, None)]
    assert nothing_ended == []
    assert every == waiting_rows
    assert waiting_rows[0].started_at == ended_rows[0].started_at


async def test_a_terminated_job_is_among_those_that_ended_and_not_among_those_that_wait(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, _ = await started(client, agent)
        await rows_of(client, agent, 1, state="waiting")
        await cli(client, "workflow", "terminate", "-w", job.id)
        (row,) = await rows_of(client, agent, 1, state="ended")
        waiting_rows = await client.jobs(agent=agent, state="waiting")

    assert (row.job, row.state, row.status) == (job.id, "ended", "failed")
    assert waiting_rows == []


async def test_the_limit_counts_jobs_and_pages_reach_beyond_one_answer_of_the_server(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client:
        jobs = await asyncio.gather(*(client.start(agent, "go") for _ in range(6)))
        for job in jobs[:3]:
            await ended(job)
            await client.reply(job.id, "more")
        every = await until(lambda: client.jobs(agent=agent), lambda rows: [row.state for row in rows] == ["ended"] * 6)
        four = await client.jobs(agent=agent, limit=4)

    assert {row.job for row in every} == {job.id for job in jobs}
    assert four == every[:4]


async def test_an_agents_name_is_taken_literally(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        for agent in ("'", "w' OR SurefootAgent != '", "\\", "\\'", 'w"', "%", "*"):
            assert await client.jobs(agent=agent) == []


async def test_the_inbox_is_sorted_by_how_long_calls_wait_and_has_a_limit(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, [call("save", key="a")], tools=[Ledger().tool()])) as client:
        jobs = [(await started(client, agent))[0] for _ in range(3)]
        items = await until(client.inbox, lambda items: sum(item.agent == agent for item in items) == 3)
        one = await client.inbox(limit=1)
        for job in jobs:
            await job.cancel()
            await ended(job)
        await until(client.inbox, lambda items: all(item.agent != agent for item in items))

    assert [item.job for item in items if item.agent == agent] == [job.id for job in jobs]
    assert [item.asked_at for item in items] == sorted(item.asked_at for item in items)
    assert len(one) == 1


async def test_the_inbox_is_there_without_a_worker_and_says_what_it_can_not_show(host: Host) -> None:
    agent = fresh()
    calls = [call("save", key="small"), call("save", key="large" * 1000)]
    clerk = writer(agent, calls, tools=[Ledger().tool()])
    async with host(clerk) as client:
        job, _ = await started(client, agent, 2)
        await until(client.inbox, lambda items: sum(item.agent == agent for item in items) == 2)
    small, large = [item for item in await client.inbox() if item.agent == agent]
    await job.cancel()
    async with host(clerk):
        await ended(job)

    assert (small.arguments, small.problem) == ({"key": "small"}, None)
    assert (large.call, large.tool, large.arguments) == ("c1-2", "save", {})
    assert large.problem is not None
    assert large.problem.startswith("not all of this call can be shown: no worker answers")


async def test_a_job_that_begins_later_is_listed_and_can_be_cancelled_before(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client:
        job = await client.start(agent, "go", delay=timedelta(hours=1))
        (row,) = await rows_of(client, agent, 1)
        await job.cancel()
        last = await ended(job)

    assert (row.job, row.state) == (job.id, "running")
    assert last.outcome is not None
    assert last.outcome.status == "cancelled"


async def test_pages_of_the_inbox_are_oldest_first_and_have_every_call_once(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "AGES", [])
    agent, count = fresh(), 23
    rounds = [[call("save", key="a"), call("save", key="b")]]
    async with host(writer(agent, *rounds, tools=[Ledger().tool()])) as client:
        jobs = [await client.start(agent, "go", tenant=f"{agent}-{n % 2}") for n in range(count)]
        everything = await until(lambda: client.inbox_page(jobs=100, agent=agent), lambda page: len(page.items) == 46)
        read: list[InboxItem] = []
        after, pages = None, 0
        while pages == 0 or after is not None:
            page = await client.inbox_page(jobs=4, agent=agent, after=after)
            read, after, pages = [*read, *page.items], page.after, pages + 1
        odd = await client.inbox_page(agent=agent, tenant=f"{agent}-1")
        nobody = await client.inbox_page(agent=agent, tenant="it's")
        await asyncio.gather(*(job.cancel() for job in jobs))
        await asyncio.gather(*(ended(job) for job in jobs))

    assert everything.after is None
    assert read == everything.items
    assert pages == 6
    first_of_each = [item.asked_at for item in read[::2]]
    assert first_of_each == sorted(first_of_each)
    assert len({item.job for item in odd.items}) == 11
    assert nobody.items == []


async def test_a_page_after_what_no_page_ended_with_is_refused(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        with pytest.raises(WrongValue, match="no page of the inbox ended with 'yesterday'"):
            await client.inbox_page(after="yesterday")


async def test_a_job_whose_oldest_call_was_decided_is_found_by_the_next_one(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    rounds = [[call("save", key="a")], [call("save", key="b")]]
    async with host(writer(agent, *rounds, tools=[ledger.tool()])) as client:
        job, (first,) = await started(client, agent)
        other, _ = await started(client, agent)
        await job.approve(first.call, by="ann")
        await until(
            lambda: client.inbox_page(agent=agent),
            lambda page: {(item.job, item.arguments["key"]) for item in page.items} == {(other.id, "a"), (job.id, "b")},
        )
        page = await client.inbox_page(jobs=1, agent=agent)
        rest = await client.inbox_page(jobs=1, agent=agent, after=page.after)
        for each in (job, other):
            await each.cancel()
            await ended(each)

    assert [item.job for item in page.items] == [other.id]
    assert [(item.job, item.arguments) for item in rest.items] == [(job.id, {"key": "b"})]
    assert rest.after is None
