"""The floor: a workflow that runs two empty activities per round, and nothing else.

Everything is as the SDK gives it: its sandbox, its data converter, its worker's defaults, activities without arguments
or results. So this does less than any agent must: nothing is passed, encoded or recorded but the events themselves.

The sandbox imports this module anew for each workflow, as it would a user's; what only the bench needs is passed
through, so that the floor does not pay for it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from bench.systems import RunJob
    from bench.systems.histories import recorded

__all__ = ["hosting", "recorded"]

QUEUE = "bench-bare"
WITHIN = timedelta(seconds=10)


@activity.defn
async def think() -> None:
    """Stands for a model call."""


@activity.defn
async def act() -> None:
    """Stands for a tool."""


@workflow.defn
class Bare:
    """Two activities a round, one after the other."""

    @workflow.run
    async def run(self, rounds: int) -> None:
        for _ in range(rounds):
            await workflow.execute_activity(think, start_to_close_timeout=WITHIN)
            await workflow.execute_activity(act, start_to_close_timeout=WITHIN)


@asynccontextmanager
async def hosting(place: str) -> AsyncIterator[RunJob]:
    client = await Client.connect(place)

    async def run(job: str, rounds: int) -> None:
        await client.execute_workflow(Bare.run, rounds, id=job, task_queue=QUEUE)

    async with Worker(client, task_queue=QUEUE, workflows=[Bare], activities=[think, act]):
        yield run
