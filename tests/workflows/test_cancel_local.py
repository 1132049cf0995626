"""Cancelling during a local step: the server tells of it only when it next hears of the workflow task, after 8 s."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio import activity
from temporalio.client import Client as Temporal
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.agents import Agent
from activities.apps import App
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.client import Client
from tests.conftest import QUICK
from tests.workflows.scripting import call, calls
from tests.workflows.states import assert_paired, told
from worker import hosting
from workflows.words import CANCELLED_CALL


class Holding(Interceptor):
    """Holds every activity of one type."""

    def __init__(self, kind: str) -> None:
        self.kind, self.entered = kind, asyncio.Event()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Held(next, self)


class _Held(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, holding: Holding) -> None:
        super().__init__(next)
        self._holding = holding

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        if activity.info().activity_type == self._holding.kind:
            self._holding.entered.set()
            await asyncio.sleep(60)
        return await super().execute_activity(input)


@tool(pure=True)
async def double(number: int) -> int:
    return 2 * number


AGENT = Agent("worker", Script([calls(call("double", number=2)), {"text": "done"}]), tools=[double])


@asynccontextmanager
async def held(temporal: Temporal, kind: str) -> AsyncIterator[tuple[Client, Holding]]:
    holding = Holding(kind)
    queue = f"held-{kind}"
    async with hosting(temporal, App([AGENT]), task_queue=queue, settings=QUICK, interceptors=[holding]):
        yield Client(temporal, task_queue=queue), holding


async def cancelled_in(temporal: Temporal, kind: str) -> tuple[str, list[tuple[str, str, str]]]:
    async with held(temporal, kind) as (client, holding):
        job = await client.start("worker", "go")
        await holding.entered.wait()
        await job.cancel()
        outcome = await asyncio.wait_for(job.outcome(), 15)
        transcript = await job.transcript()
    assert_paired(transcript)
    return outcome.status, told(transcript)


async def test_cancel_reaches_a_job_that_loads_its_agent_or_runs_a_pure_tool(temporal: Temporal) -> None:
    loading, computing = await asyncio.gather(
        cancelled_in(temporal, "load_agent"), cancelled_in(temporal, "compute_tool")
    )

    assert loading == ("cancelled", [])
    assert computing == ("cancelled", [("double", "not_executed", CANCELLED_CALL)])
