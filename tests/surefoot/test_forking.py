"""A fork is a new job that remembers what another one had said at the end of a round."""

import pytest

from activities.agents import Agent
from surefoot.errors import JobConflict, NoSuchRound
from tests.conftest import Host
from tests.judge_transcript import judge_transcript
from tests.waiting import until
from tests.workflows.gated import Ledger, ended, results, started, writer
from tests.workflows.scripting import call, calls, kinds, look_up, watched
from workflows.contracts import Limits, Message, Turn


def looks(*keys: str) -> dict[str, object]:
    return calls(*(call("look_up", key=key) for key in keys))


async def test_a_fork_goes_on_from_the_end_of_its_round_and_leaves_the_other_job_alone(host: Host) -> None:
    script, _ = watched(looks("a"), looks("b"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        first = await job.outcome()
        fork = await client.fork(job.id, 1, by="ann")
        end = await fork.outcome()
        forked, whole = await fork.transcript(), await job.transcript()

    assert kinds(whole) == kinds(forked) == "MTRTRT"
    assert forked[:3] == whole[:3]
    assert (first.status, end.status, end.usage.model_calls) == ("complete", "complete", 2)
    assert len(end.findings) == 2
    assert fork.id != job.id
    judge_transcript(forked)


async def test_a_fork_can_be_told_something_else(host: Host) -> None:
    script, asked = watched(looks("a"), looks("b"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        fork = await client.fork(job.id, 1, "now look elsewhere", by="ann")
        await fork.outcome()
        forked = await fork.transcript()

    assert kinds(forked)[:4] == "MTRM"
    assert forked[3] == Message(text="now look elsewhere", by="ann")
    assert [entry.text for entry in asked[-1].transcript if isinstance(entry, Message)] == ["go", "now look elsewhere"]


async def test_a_fork_before_the_first_round_has_the_message_alone(host: Host) -> None:
    script, _ = watched(looks("a"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        fork = await client.fork(job.id, 0)
        await fork.outcome()
        forked = await fork.transcript()

    assert kinds(forked) == "MTRT"
    assert [entry.number for entry in forked if isinstance(entry, Turn)] == [1, 2]


async def test_a_job_that_waits_for_a_person_can_be_forked_and_its_write_happens_in_neither(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("find", key="x")], [call("save", key="a")], tools=[
        ledger.tool("find", read_only=True), ledger.tool(),
    ])  # fmt: skip
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        with pytest.raises(NoSuchRound, match=r"round 2 of job .* has calls without a result"):
            await client.fork(job.id, 2)
        fork = await client.fork(job.id, 1)
        view = await until(fork.view, lambda view: bool(view.pending))
        await fork.deny(view.pending[0].call, reason="not here", by="ann")
        await ended(fork)
        still = await job.view()
        await job.cancel()

    assert [each.call for each in still.pending] == [pending.call]
    assert ledger.written == ["find x"]


async def test_a_fork_of_a_fork_and_a_reply_to_it_remember_everything(host: Host) -> None:
    script, _ = watched(looks("a"), looks("b"), looks("c"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=10))) as client:
        job = await client.start("a", "go")
        await job.outcome()
        second = await client.fork(job.id, 2)
        await second.outcome()
        third = await client.fork(second.id, 3)
        await third.outcome()
        await client.reply(third.id, "and?")
        await until(third.view, lambda view: view.state == "ended")
        transcript = await third.transcript()

    assert kinds(transcript) == "MTRTRTRTMT"
    assert len(results(transcript)) == 3
    judge_transcript(transcript)


async def test_a_round_that_is_not_there_or_an_id_that_is_taken_is_refused(host: Host) -> None:
    script, _ = watched(looks("a"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        with pytest.raises(NoSuchRound, match="has 1 rounds; fork after one of 0 to 1, not 2"):
            await client.fork(job.id, 2)
        with pytest.raises(JobConflict, match="exists already"):
            await client.fork(job.id, 1, new_id=job.id)
