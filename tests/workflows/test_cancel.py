"""Cancelling: in every state the job ends within seconds, and what was said stays fit for every provider."""

import asyncio
from datetime import timedelta

import pytest
from temporalio.client import Client as Temporal

from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import cli
from tests.workflows.states import GO_ON, States, assert_paired, told
from workflows import flight
from workflows.contracts import Outcome
from workflows.words import CANCELLED_CALL, INTERRUPTED

pytestmark = pytest.mark.cold

LEFT = ("quick", "not_executed", CANCELLED_CALL)


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight, "CANCEL_GRACE", timedelta(seconds=0.5))


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 10)


async def check_reply(states: States, client: Client, job: Job) -> None:
    """A reply goes on: the model is handed a transcript in which every call has its result."""
    await client.reply(job.id, GO_ON)
    outcome = await soon(job)

    assert (outcome.status, outcome.answer) == ("complete", "went on")
    assert_paired(states.asked[-1].transcript)
    assert_paired(await job.transcript())


@pytest.mark.parametrize(
    ("state", "results"),
    [
        ("model", []),
        ("reads", [("quick", "ok", "quick"), ("held", "not_executed", CANCELLED_CALL)]),
        ("write", [("save", "unknown", INTERRUPTED), LEFT]),
        ("decision", [("asking", "not_executed", CANCELLED_CALL), LEFT]),
        ("unknown", [("doubtful", "unknown", INTERRUPTED), LEFT]),
        ("paused", [("held", "ok", "held")]),
    ],
)
async def test_cancel_ends_a_job_in_every_state(host: Host, state: str, results: list[tuple[str, str, str]]) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, state)
        await job.cancel()
        outcome = await soon(job)
        transcript = await job.transcript()

        assert outcome.status == "cancelled"
        assert outcome.requires_human == any(status == "unknown" for _, status, _ in results)
        assert told(transcript) == results
        assert [missed.tool for missed in outcome.not_done] == [r[0] for r in results if r[1] == "not_executed"]
        assert_paired(transcript)
        await check_reply(states, client, job)
    assert states.saved == []


async def test_a_write_that_ends_within_the_grace_is_told_as_it_ended(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "CANCEL_GRACE", timedelta(seconds=20))
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "write")
        await job.cancel()
        await until(lambda: _cancel_is_seen(job, client.temporal))
        states.let_go.set()
        outcome = await soon(job)
        transcript = await job.transcript()

        assert outcome.status == "cancelled"
        assert told(transcript) == [("save", "ok", "saved"), LEFT]
        await check_reply(states, client, job)
    assert states.saved == ["save"]


async def test_an_interrupted_model_call_counts_as_one_that_nobody_measured(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "model")
        await job.cancel()
        outcome = await soon(job)

    assert (outcome.usage.failed_attempts, outcome.usage.unmeasured, outcome.usage.model_calls) == (1, 1, 0)


async def test_cancelling_twice_is_cancelling_once(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "write")
        await job.cancel()
        await job.cancel()
        outcome = await soon(job)

        assert outcome.status == "cancelled"
        assert told(await job.transcript()) == [("save", "unknown", INTERRUPTED), LEFT]
        await check_reply(states, client, job)


async def test_a_job_cancelled_before_any_worker_saw_it_is_cancelled_when_one_comes(
    host: Host, temporal: Temporal, request: pytest.FixtureRequest
) -> None:
    states = States()
    early = Client(temporal, task_queue=request.node.name)
    job = await early.start("worker", "model")
    await job.cancel()
    async with host(states.agent()) as client:
        outcome = await soon(job)

        assert outcome.status == "cancelled"
        assert states.asked == []
        assert [entry.kind for entry in await job.transcript()] == ["message"]
        await check_reply(states, client, job)


async def test_a_job_cancelled_while_no_worker_is_up_is_cancelled_when_one_comes(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "decision")
    await job.cancel()
    async with host(states.agent()) as client:
        outcome = await soon(job)

        assert outcome.status == "cancelled"
        assert told(await job.transcript()) == [("asking", "not_executed", CANCELLED_CALL), LEFT]
        await check_reply(states, client, job)


async def test_temporals_own_cancel_is_a_cancel(host: Host) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, "decision")
        code, said = await cli(client, "workflow", "cancel", "--workflow-id", job.id)
        outcome = await soon(job)

        assert code == 0, said
        assert outcome.status == "cancelled"
        await check_reply(states, client, job)


@pytest.mark.parametrize(
    ("state", "results"),
    [
        ("model", []),
        ("reads", [("quick", "ok", "quick"), ("held", "not_executed", CANCELLED_CALL)]),
        ("write", [("save", "unknown", INTERRUPTED), LEFT]),
        ("decision", [("asking", "not_executed", CANCELLED_CALL), LEFT]),
        ("unknown", [("doubtful", "unknown", INTERRUPTED), LEFT]),
        ("paused", [("held", "ok", "held")]),
    ],
)
async def test_a_terminated_job_goes_on_with_a_reply(
    host: Host, state: str, results: list[tuple[str, str, str]]
) -> None:
    states = States()
    async with host(states.agent()) as client:
        job = await states.reach(client, state)
        await client.temporal.get_workflow_handle(job.id).terminate("by hand")
        outcome = await soon(job)

        assert outcome.status == "failed"
        assert "TERMINATED" in (outcome.error or "")
        await check_reply(states, client, job)
        assert told(await job.transcript()) == results


async def _cancel_is_seen(job: Job, temporal: Temporal) -> bool:
    """Whether the job's code has been told of the cancel: a workflow task was finished after it."""
    history = await temporal.get_workflow_handle(job.id).fetch_history()
    kinds = [event.WhichOneof("attributes") for event in history.events]
    asked = "workflow_execution_cancel_requested_event_attributes"
    return asked in kinds and "workflow_task_completed_event_attributes" in kinds[kinds.index(asked) :]
