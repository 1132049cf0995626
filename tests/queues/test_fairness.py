"""Who goes first where workers are short: asserted by the order in which jobs end, with one step at a time."""

from dataclasses import replace
from datetime import timedelta

from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.apps import App
from activities.providers.script import Script
from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import QUICK, Host
from worker import hosting

WORKER = Agent("worker", Script([{"text": "done", "repeat": True}]))
ONE_AT_A_TIME = replace(QUICK, max_activities=1)


async def order_of_ends(temporal: Temporal, queue: str, jobs: list[Job]) -> list[str]:
    """The jobs in the order of their ends, by a worker that begins when all of them wait."""
    async with hosting(temporal, App([WORKER]), task_queue=queue, settings=ONE_AT_A_TIME):
        ends = {}
        for job in jobs:
            await job.outcome()
            ends[job.id] = (await job.handle().describe()).close_time
    return sorted(ends, key=lambda job: str(ends[job]))


async def test_a_job_of_priority_1_goes_before_those_of_priority_5_that_waited_longer(temporal: Temporal) -> None:
    client = Client(temporal, task_queue="priorities")
    jobs = [await client.start("worker", "go", id=f"late-{n}", priority=5) for n in range(20)]
    jobs += [await client.start("worker", "go", id=f"first-{n}", priority=1) for n in range(3)]
    order = await order_of_ends(temporal, "priorities", jobs)

    # The worker may have taken up some of the others before it is shown the last three.
    assert {"first-0", "first-1", "first-2"} <= set(order[:10])


async def test_a_tenant_with_four_jobs_does_not_wait_for_one_with_forty(temporal: Temporal) -> None:
    client = Client(temporal, task_queue="shares")
    jobs = [await client.start("worker", "go", id=f"many-{n}", tenant="many") for n in range(40)]
    jobs += [await client.start("worker", "go", id=f"few-{n}", tenant="few") for n in range(4)]
    order = await order_of_ends(temporal, "shares", jobs)

    # In turn they would be within the first eight; in the order of their starts they would be the last four.
    assert {f"few-{n}" for n in range(4)} <= set(order[:20])


async def test_a_delayed_job_and_a_reply_to_it_keep_priority_tenant_and_weight(host: Host) -> None:
    async with host(WORKER) as client:
        job = await client.start(
            "worker", "go", tenant="acme", priority=2, weight=3.0, delay=timedelta(milliseconds=10)
        )
        await job.outcome()
        await (await client.reply(job.id, "again")).outcome()
        description = await job.handle().describe()
        found = description.raw_description.workflow_execution_info.priority

        assert (found.priority_key, found.fairness_key, found.fairness_weight) == (2, "acme", 3.0)
