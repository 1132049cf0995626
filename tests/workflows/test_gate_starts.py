"""Runs of the job's workflow type that somebody starts by hand: garbage ends as failed, with a reason."""

import uuid
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from surefoot.client import Client
from tests.conftest import Host
from tests.workflows.gated import cli, writer

GOOD = {"agent": "w", "message": "go"}
GARBAGE: dict[str, tuple[list[Any], str]] = {
    "no input": ([], "0 inputs"),
    "two inputs": ([GOOD, GOOD], "2 inputs"),
    "null": ([None], "value: it has to be a JSON object"),
    "a word": (["go"], "value: it has to be a JSON object"),
    "a number": ([7], "value: it has to be a JSON object"),
    "a list": ([[GOOD]], "value: it has to be a JSON object"),
    "nothing in it": ([{}], "agent: it is missing"),
    "an agent that is a number": ([{"agent": 7}], "agent: it has to be a text"),
    "a message that is a list": ([{"agent": "w", "message": ["go"]}], "message: it has to be a text"),
    "negative limits": ([{**GOOD, "limits": {"rounds": -1}}], "limits.rounds: it has to be 0 or more"),
    "a state that is none": ([{**GOOD, "carry": {"calls": 5}}], "carry.agent: it is missing"),
    "going on from nothing": ([{**GOOD, "resumed": True}], "nothing of that run"),
    "bytes": ([b"\x00\xff"], "value: it has to be a JSON object"),
    "another encoding": ([RawValue(Payload(metadata={"encoding": b"mystery"}, data=b"\xff"))], "'mystery'"),
    "broken JSON": ([RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b"{"))], "'json/plain'"),
    "broken compression": ([RawValue(Payload(metadata={"encoding": b"binary/surefoot-zstd"}, data=b"z"))], "zstd"),
    "one good input, one broken": (
        [GOOD, RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b"{"))],
        "2 inputs",
    ),
}


async def run(client: Client, sent: list[Any]) -> tuple[str, ApplicationError]:
    job = f"raw-{uuid.uuid4().hex[:8]}"
    handle = await client.temporal.start_workflow("AgentJob", args=sent, id=job, task_queue=client.task_queue)
    with pytest.raises(WorkflowFailureError) as caught:
        await handle.result()
    assert isinstance(caught.value.cause, ApplicationError)
    return job, caught.value.cause


@pytest.mark.parametrize("cached", [1000, 0])
async def test_a_run_started_with_garbage_ends_as_failed_and_says_why(host: Host, cached: int) -> None:
    async with host(writer("w", tools=[]), cached=cached) as client:
        for name, (sent, why) in GARBAGE.items():
            job, error = await run(client, sent)
            outcome = await client.job(job).outcome()

            assert error.type == "BadStart", name
            assert error.message.startswith("this is no job: "), name
            assert why in error.message, name
            assert outcome.status == "failed", name
            assert outcome.error is not None, name
            assert why in outcome.error, name


async def test_a_state_that_contradicts_itself_ends_the_run_as_failed(host: Host) -> None:
    call = {"call": {"kind": "call", "id": "c1-1", "tool": "x"}, "plan": {"call": "c1-1", "kind": "write"}}
    carry = {"agent": "w", "calls": [{**call, "phase": "asking"}]}
    async with host(writer("w", tools=[])) as client:
        _, error = await run(client, [{**GOOD, "resumed": True, "carry": carry}])

    assert error.message == "this is no job: call c1-1 waits for a person in it, and nothing says since when"


async def test_an_agent_that_nobody_knows_fails_the_job_and_names_those_that_exist(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("v", "go")
        outcome = await job.outcome()

    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "There is no agent 'v'" in outcome.error
    assert "The app has: w." in outcome.error
    assert outcome.requires_human


async def test_a_good_start_by_hand_is_a_job_like_any_other(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = f"raw-{uuid.uuid4().hex[:8]}"
        code, text = await cli(
            client, "workflow", "start", "--type", "AgentJob", "-w", job, "--task-queue", client.task_queue,
            "--input", '{"agent": "w", "message": "go"}',
        )  # fmt: skip
        outcome = await client.job(job).outcome()

    assert code == 0, text
    assert (outcome.status, outcome.answer) == ("complete", "done")
