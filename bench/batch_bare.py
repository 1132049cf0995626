"""The floor for batches: a parent that starts empty children, so many at a time, each with one empty activity.

Everything is as the SDK gives it, but for the slices: a parent's history holds only so many children.
`python -m bench.batch_bare ADDRESS` is its worker.
"""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

QUEUE = "bench-batch-bare"
SLICE = 500
WITHIN = timedelta(seconds=30)


@activity.defn
async def think() -> None:
    """Stands for a model call."""


@workflow.defn
class Child:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(think, start_to_close_timeout=WITHIN)


@workflow.defn
class Parent:
    @workflow.run
    async def run(self, children: int, window: int) -> None:
        places = asyncio.Semaphore(window)

        async def one() -> None:
            async with places:
                await workflow.execute_child_workflow(Child.run)

        await asyncio.gather(*(one() for _ in range(min(children, SLICE))))
        if children > SLICE:
            workflow.continue_as_new(args=[children - SLICE, window])


async def serve(address: str) -> None:
    client = await Client.connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[Parent, Child], activities=[think]):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
