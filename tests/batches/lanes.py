"""Batches of jobs in the batch lane, on a worker that asks the stand-in of a provider's batch API.

Whoever waits for a batch is told its end: tests that ask for a view over and over keep the server busy with that.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from activities.agents import Agent
from activities.apps import App
from activities.models.registry import Models
from surefoot.batches.batch import Batch
from surefoot.batches.results import BatchResult, results
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.job import Job
from tests.batch_apis import StandIn
from tests.conftest import QUICK, Host
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.lanes.contracts import LANE_WORKFLOW, PROVIDER_BATCH, LaneState, LaneTerms

TERMS = LaneTerms(quiet=0.3, longest_look=1.0, poll=0.1, longest_poll=0.5, settle=0.5, pause=0.3, longest_pause=1.0)
SETTINGS = replace(QUICK, lane_terms=TERMS)

ASKED: ContextVar[StandIn] = ContextVar("asked")
"""The server that workers ask that are started in this context."""


class ModelsOfStandIn(Models):
    """In place of a worker's `Models` where several workers of one process ask servers of their own, side by side."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
        server = ASKED.get()
        self._built[server.api] = server.provider()


@dataclass
class Run:
    """A worker, and the provider that it asks."""

    client: Client
    server: StandIn

    async def submit(self, id: str, count: int, concurrency: int = 50, **order: Any) -> Batch:
        id = f"{id}-{self.server.api}"
        lines = [BatchLine(number=n, custom_id=f"id-{n}", input=f"say {n}") for n in range(1, count + 1)]
        chosen = BatchOrder(**{"agent": "worker", "lane": "batch", **order})
        # A start that the client had to repeat is answered as one that was there: no matter here.
        await submit(
            self.client.temporal, self.client.task_queue, lines, chosen, id=id, digest="x", concurrency=concurrency
        )
        return Batch(self.client.temporal, id)

    def job(self, batch: Batch) -> Job:
        """The job of its first line."""
        return self.client.job(f"{batch.id}-000001")

    async def lanes(self) -> list[LaneState]:
        """The state of each lane of this worker's queue."""
        return [
            await self.client.temporal.get_workflow_handle(id).query("state", result_type=LaneState)
            for id in await self.ids(LANE_WORKFLOW)
        ]

    async def lane(self) -> LaneState:
        """The lane, once there is one."""
        (lane,) = await until(self.lanes)
        return lane

    async def ids(self, kind: str, more: str = "ExecutionStatus != 'ContinuedAsNew'") -> list[str]:
        query = f"WorkflowType = '{kind}' AND TaskQueue = '{self.client.task_queue}' AND {more}"
        return [run.id async for run in self.client.temporal.list_workflows(query)]

    async def intents(self) -> Sequence[str]:
        return await self.ids(PROVIDER_BATCH)

    async def end(self) -> None:
        """No lane outlives its test: the next one has another server."""
        for id in [*await self.ids(LANE_WORKFLOW), *await self.intents()]:
            handle = self.client.temporal.get_workflow_handle(id)
            if (await handle.describe()).close_time is None:
                await handle.terminate("the test is over")


@asynccontextmanager
async def running(host: Host, server: StandIn, *agents: Agent, terms: LaneTerms = TERMS) -> AsyncIterator[Run]:
    async with host(*agents, settings=replace(SETTINGS, lane_terms=terms)) as client:
        run = Run(client, server)
        try:
            yield run
        finally:
            await run.end()


async def ended(batch: Batch) -> list[BatchResult]:
    """The results of a batch that has ended."""
    await asyncio.wait_for(batch.handle().result(), 90)
    return [row async for row in results(batch)]


async def settled(run: Run) -> LaneState:
    """The lane, once nothing is on its way."""
    return await until(run.lane, lambda lane: not lane.lines and not lane.out)
