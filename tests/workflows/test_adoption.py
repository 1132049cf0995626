"""A job that lasts longer than the server keeps closed runs: it adopts what its earlier runs recorded."""

import dataclasses
from functools import partial

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.service import RPCError, RPCStatusCode

from activities.agents import Agent
from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import QUICK, Host
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds, look_up, looks, save, watched
from workflows.contracts import JobState, JobView, Limits

FREE = Limits(rounds=None, tool_calls=None)
MOVING = dataclasses.replace(QUICK, history_events=40, adopt_seconds=0.4)


def waits(view: JobView) -> bool:
    return view.state == "waiting"


async def runs(client: Client, job: Job) -> list[str]:
    """The run ids of a job, the newest first."""
    found = [run async for run in client.temporal.list_workflows(f"WorkflowId = '{job.id}'")]
    return [run.run_id for run in sorted(found, key=lambda run: run.start_time, reverse=True)]


async def stands_alone(client: Client, job: Job) -> bool:
    """Whether the job's current run needs no earlier one."""
    carry = await client.temporal.get_workflow_handle(job.id).query("carry", result_type=JobState)
    return len(carry.earlier) == 1


async def forget(client: Client, job: Job, run_id: str) -> None:
    """What retention does to a closed run."""
    execution = WorkflowExecution(workflow_id=job.id, run_id=run_id)
    request = DeleteWorkflowExecutionRequest(namespace=client.temporal.namespace, workflow_execution=execution)
    await client.temporal.workflow_service.delete_workflow_execution(request)


async def is_gone(client: Client, job: Job, run_id: str) -> bool:
    try:
        await client.temporal.get_workflow_handle(job.id, run_id=run_id).describe()
    except RPCError as error:
        return error.status == RPCStatusCode.NOT_FOUND
    return False


async def test_a_job_that_waits_for_long_needs_none_of_its_earlier_runs(host: Host) -> None:
    script, asked = watched(*[looks(f"k{n}") for n in range(12)], calls(call("save", key="a")), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, save], limits=FREE), settings=MOVING) as client:
        job = await client.start("a", "go")
        view = await until(job.view, waits)
        await until(lambda: stands_alone(client, job))
        earlier = (await runs(client, job))[1:]
        for run_id in earlier:
            await forget(client, job, run_id)
        for run_id in earlier:  # the server takes half a minute for it
            await until(partial(is_gone, client, job, run_id), seconds=90)
    async with host(Agent("a", script, tools=[look_up, save], limits=FREE), settings=MOVING) as client:
        await job.approve(view.pending[0].call, by="ann")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert kinds(transcript) == "M" + "TR" * 13 + "T"
    assert len(asked[-1].transcript) == 27


@pytest.mark.cold
async def test_a_reply_long_after_the_end_adopts_what_was_said(host: Host) -> None:
    script, asked = watched({"text": "first"}, {"text": "second"}, {"text": "third"})
    settings = dataclasses.replace(QUICK, adopt_seconds=0.0)
    async with host(Agent("a", script), settings=settings) as client:
        job = await client.start("a", "one")
        await job.outcome()
        await client.reply(job.id, "two")
        await job.outcome()
        await client.reply(job.id, "three")
        outcome = await job.outcome()
        transcript = await job.transcript()
        alone = await stands_alone(client, job)

    assert outcome.answer == "third"
    assert kinds(transcript) == "MTMTMT"
    assert len(asked[-1].transcript) == 5
    assert alone
