"""Replies: they continue a job that has ended, in any state, with everything that was said."""

import asyncio
import random
import string
from collections.abc import Sequence
from datetime import timedelta

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from surefoot.client import Client
from surefoot.errors import JobRunning, NoWorker, TooLarge
from surefoot.job import Job
from tests.conftest import Host
from tests.workflows.gated import Ledger, call, cli, ended, results, started, waiting, writer
from workflows.contracts import Entry, Limits, Message, Turn


def messages(entries: Sequence[Entry]) -> list[str]:
    return [entry.text for entry in entries if isinstance(entry, Message)]


def has_every_result(entries: Sequence[Entry]) -> bool:
    """Each call answered once, after its turn and before anything else: what every provider asks for."""
    open_calls: list[str] = []
    for entry in entries:
        if entry.kind == "result":
            if entry.call not in open_calls:
                return False
            open_calls.remove(entry.call)
        elif open_calls:
            return False
        elif isinstance(entry, Turn):
            open_calls = [part.id for part in entry.calls]
    return not open_calls


async def test_a_reply_keeps_what_was_said_and_begins_a_new_allowance(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool("find", read_only=True)]
    agent = writer("w", [call("find", key="a")], [call("find", key="b")], tools=tools, limits=Limits(rounds=1))
    async with host(agent) as client:
        job = await client.start("w", "go", by="ann")
        first = await ended(job)
        await client.reply(job.id, "yes, go on", by="bob")
        last = await ended(job)
        said = await job.transcript()

    assert first.outcome is not None
    assert first.outcome.status == "hit_iteration_cap"
    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.answer) == ("complete", "done")
    assert messages(said) == ["go", "yes, go on"]
    assert has_every_result(said)


async def test_a_reply_to_a_running_job_is_refused_and_names_what_reaches_it(host: Host) -> None:
    async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, _ = await started(client, "w")
        with pytest.raises(JobRunning, match="surefoot steer"):
            await client.reply(job.id, "more")
        await job.cancel()
        await ended(job)
        said = await job.transcript()

    assert messages(said) == ["go"]


async def test_of_two_replies_at_once_one_is_taken(host: Host) -> None:
    slow = Script([{"text": "done"}, {"text": "done", "seconds": 1.0}])
    async with host(Agent("w", slow)) as client:
        job = await client.start("w", "go")
        await ended(job)
        answers = await asyncio.gather(*(client.reply(job.id, text) for text in ("one", "two")), return_exceptions=True)
        await ended(job)
        said = await job.transcript()

    assert {type(answer) for answer in answers} == {Job, JobRunning}
    assert messages(said) in (["go", "one"], ["go", "two"])


async def test_a_reply_that_does_not_fit_is_refused_before_it_is_sent(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "go")
        await ended(job)
        with pytest.raises(TooLarge):
            await client.reply(job.id, "x" * 1_000_001)
        last = await job.view()

    assert last.state == "ended"


async def test_a_reply_goes_on_after_a_stop_with_calls_left_open(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("save", key="b")]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (first, _) = await started(client, "w", 2)
        await job.approve(first.call, by="ann")
        await waiting(job)
        await job.stop()
        await ended(job)
        await client.reply(job.id, "go on")
        last = await ended(job)
        said = await job.transcript()

    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert has_every_result(said)
    assert ledger.written == ["save a"]


async def test_a_reply_goes_on_after_a_cancel(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("save", key="b")]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, _ = await started(client, "w", 2)
        await job.cancel()
        first = await ended(job)
        await client.reply(job.id, "go on")
        last = await ended(job)
        said = await job.transcript()

    assert first.outcome is not None
    assert first.outcome.status == "cancelled"
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert messages(said) == ["go", "go on"]
    assert has_every_result(said)


async def test_a_reply_goes_on_after_a_model_failure(host: Host) -> None:
    rejected = {"error": {"kind": "Rejected", "message": "no"}}
    broken = Script([{"text": "let me", "calls": [call("find", key="a")]}, rejected])
    whole = Script([rejected, {"text": "well again"}])
    tool = Ledger().tool("find", read_only=True)
    async with host(Agent("w", broken, tools=[tool])) as client:
        job = await client.start("w", "go")
        first = await ended(job)
    async with host(Agent("w", whole, tools=[tool])):
        await client.reply(job.id, "try again")
        last = await ended(job)
        said = await job.transcript()

    assert first.outcome is not None
    assert first.outcome.status == "model_failure"
    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.answer) == ("complete", "well again")
    assert messages(said) == ["go", "try again"]


async def test_a_reply_goes_on_after_a_job_that_failed_since_its_agent_was_unknown(host: Host) -> None:
    async with host(writer("other", tools=[])) as client:
        job = await client.start("w", "go")
        first = await ended(job)
    async with host(writer("w", tools=[])):
        await client.reply(job.id, "now it is there")
        last = await ended(job)
        said = await job.transcript()

    assert first.outcome is not None
    assert first.outcome.status == "failed"
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert messages(said) == ["go", "now it is there"]


async def test_a_reply_goes_on_after_a_termination_however_large_the_open_calls(host: Host) -> None:
    ledger = Ledger()
    large = "".join(random.Random(1).choices(string.ascii_letters, k=10**6))
    calls = [call("save", key="a"), call("save", key=large)]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (_, second) = await started(client, "w", 2)
        await job.deny(second.call, reason=large, by="ann")
        code, text = await cli(client, "workflow", "terminate", "-w", job.id)
        assert code == 0, text
        first = await ended(job)
        await client.reply(job.id, "go on")
        last = await ended(job)
        said = await job.transcript()

    assert first.outcome is not None
    assert first.outcome.status == "failed"
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert [result.status for result in results(said)] == ["not_executed", "denied"]
    assert has_every_result(said)
    assert ledger.written == []


async def test_a_job_that_was_terminated_before_a_worker_saw_it_had_done_nothing(host: Host) -> None:
    async with host(Agent("quick", Script([{"text": "done"}]))) as client:
        pass
    job = await client.start("quick", "go")
    await cli(client, "workflow", "terminate", "-w", job.id)

    view = await job.view()

    assert view.outcome is not None
    assert (view.outcome.status, view.rounds, view.agent) == ("failed", 0, "quick")


async def test_what_a_terminated_job_had_done_is_asked_of_a_worker(host: Host) -> None:
    agent = writer("w", [call("save", key="a")], tools=[Ledger().tool()])
    async with host(agent) as client:
        job, _ = await started(client, "w")
    await cli(client, "workflow", "terminate", "-w", job.id)
    hasty = Client(client.temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=0.5))
    with pytest.raises(NoWorker, match="ended as TERMINATED"):
        await hasty.reply(job.id, "go on")
    async with host(agent):
        await client.reply(job.id, "go on")
        last = await ended(job)

    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_a_job_is_replied_to_again_and_again(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "0")
        for number in range(1, 6):
            await ended(job)
            await client.reply(job.id, str(number))
        last = await ended(job)
        said = await job.transcript()

    assert messages(said) == ["0", "1", "2", "3", "4", "5"]
    assert last.entries == len(said) == 12
