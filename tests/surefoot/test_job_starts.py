"""Starting jobs: once per id, whoever asks and however often."""

import asyncio
import uuid

import pytest

from surefoot.errors import JobConflict, SurefootError, TooLarge
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, cli, ended, waiting, writer
from workflows.contracts import Message


def fresh() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


async def test_the_same_id_with_the_same_input_is_the_same_job(host: Host) -> None:
    ledger = Ledger()
    name = fresh()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job = await client.start("w", "go", id=name)
        again = await client.start("w", "go", id=name)
        (pending,) = await waiting(job)
        await again.approve(pending.call, by="ann")
        await ended(job)
        after_the_end = await client.start("w", "go", id=name)
        last = await after_the_end.view()

    assert job.id == again.id == after_the_end.id == name
    assert last.state == "ended"
    assert ledger.written == ["save a"]


async def test_the_same_id_with_another_input_is_a_conflict(host: Host) -> None:
    name = fresh()
    async with host(writer("w", tools=[]), writer("v", tools=[])) as client:
        job = await client.start("w", "go", id=name)
        with pytest.raises(JobConflict, match=f"job {name} exists already, with another input"):
            await client.start("w", "go elsewhere", id=name)
        with pytest.raises(JobConflict):
            await client.start("v", "go", id=name)
        await ended(job)
        with pytest.raises(JobConflict):
            await client.start("w", "go elsewhere", id=name)


async def test_an_id_of_somebody_elses_workflow_is_a_conflict(host: Host) -> None:
    name = fresh()
    async with host(writer("w", tools=[])) as client:
        await cli(client, "workflow", "start", "--type", "Other", "-w", name, "--task-queue", "nobody")
        with pytest.raises(JobConflict):
            await client.start("w", "go", id=name)
        await cli(client, "workflow", "terminate", "-w", name)


async def test_ten_starts_at_once_are_one_job(host: Host) -> None:
    ledger = Ledger()
    name = fresh()
    agent = writer("w", [call("log", key="a")], tools=[ledger.tool("log", policy="allow")])
    async with host(agent) as client:
        jobs = await asyncio.gather(*(client.start("w", "go", id=name) for _ in range(10)))
        await ended(jobs[0])

    assert {job.id for job in jobs} == {name}
    assert ledger.written == ["log a"]


async def test_a_replied_job_still_belongs_to_its_first_input(host: Host) -> None:
    name = fresh()
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "go", id=name)
        await ended(job)
        await client.reply(name, "more")
        await ended(job)
        same = await client.start("w", "go", id=name)
        said = await same.transcript()
        with pytest.raises(JobConflict):
            await client.start("w", "more", id=name)

    assert [entry.text for entry in said if isinstance(entry, Message)] == ["go", "more"]


async def test_a_message_that_does_not_fit_is_refused_before_it_is_sent(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        with pytest.raises(TooLarge, match="the message has 1000001 bytes, at most 1000000 fit"):
            await client.start("w", "x" * 1_000_001)
        with pytest.raises(TooLarge, match="the message has 1200000 bytes"):
            await client.start("w", "é" * 600_000)
        job = await client.start("w", "x" * 1_000_000)
        last = await ended(job)

    assert last.outcome is not None
    assert last.outcome.status == "complete"


@pytest.mark.parametrize("text", ["", "no\x00thing", "half \ud800", "two \ud83d\ude00 halves", "😀" * 1000])
async def test_any_text_is_a_message(host: Host, text: str) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", text, by=text)
        await ended(job)
        first, *_ = await job.transcript()

    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert isinstance(first, Message)
    assert (first.text, first.by) == (expected, expected)


@pytest.mark.parametrize("name", ["", "x" * 1001, "half \ud800"])
async def test_an_id_that_can_be_none_is_refused(host: Host, name: str) -> None:
    async with host(writer("w", tools=[])) as client:
        with pytest.raises(SurefootError):
            await client.start("w", "go", id=name)


@pytest.mark.parametrize("name", ["a b/c?d=e#f", "ünï-😀", "'; DROP", "-w", "x" * 900])
async def test_any_other_id_is_taken(host: Host, name: str) -> None:
    name = f"{name}{uuid.uuid4().hex[:8]}"
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "go", id=name)
        last = await ended(job)
        rows = await until(client.jobs, lambda rows: name in [row.job for row in rows])

    assert last.job == name
    assert [row.agent for row in rows if row.job == name] == ["w"]
