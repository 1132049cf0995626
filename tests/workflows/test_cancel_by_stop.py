"""Stopping: the step under way ends by itself, nothing new begins, and the model sums up."""

import asyncio

import pytest
from temporalio.client import Client as Temporal

from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.workflows.states import GO_ON, States, assert_paired, told
from workflows.contracts import Outcome
from workflows.words import INTERRUPTED

STOPPED = "Not executed: the job was stopped by a person."
LEFT = ("quick", "not_executed", STOPPED)


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 10)


@pytest.mark.parametrize(
    ("state", "results"),
    [
        ("turn", [LEFT]),
        ("reads", [("quick", "ok", "quick"), ("held", "ok", "held")]),
        ("write", [("save", "ok", "saved"), LEFT]),
        ("decision", [("asking", "not_executed", STOPPED), LEFT]),
        ("unknown", [("doubtful", "unknown", INTERRUPTED), LEFT]),
        ("paused", [("held", "ok", "held")]),
    ],
)
async def test_stop_ends_a_job_in_every_state_with_a_closing_call(
    host: Host, state: str, results: list[tuple[str, str, str]]
) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, state)
        await job.stop(by="ann")
        states.let_go.set()
        outcome = await soon(job)
        transcript = await job.transcript()
        await client.reply(job.id, GO_ON)
        final = await soon(job)

    assert (outcome.status, outcome.answer) == ("cancelled", "summed up")
    assert told(transcript) == results
    assert [missed.tool for missed in outcome.not_done] == [r[0] for r in results if r[1] == "not_executed"]
    assert_paired(transcript)
    assert (final.status, final.answer) == ("complete", "went on")
    for request in states.asked:
        assert_paired(request.transcript)
    assert "asking" not in states.saved


async def test_a_job_stopped_before_any_worker_saw_it_sums_up_when_one_comes(
    host: Host, temporal: Temporal, request: pytest.FixtureRequest
) -> None:
    states = States()
    job = await Client(temporal, task_queue=request.node.name).start("worker", "reads")
    await job.stop()
    async with host(states.agent()):
        outcome = await soon(job)

    assert (outcome.status, outcome.answer) == ("cancelled", "summed up")
    assert [asked.tool_choice for asked in states.asked] == ["none"]


async def test_stopping_twice_is_stopping_once(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "write")
        await job.stop()
        await job.stop()
        states.let_go.set()
        outcome = await soon(job)

    assert (outcome.status, outcome.answer) == ("cancelled", "summed up")
    assert [asked.tool_choice for asked in states.asked] == ["auto", "none"]


async def test_a_job_that_is_stopping_can_still_be_cancelled(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "reads")
        await job.stop()
        await job.cancel()
        outcome = await soon(job)

    assert (outcome.status, outcome.answer) == ("cancelled", None)
