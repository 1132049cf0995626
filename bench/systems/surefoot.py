"""Surefoot as `python -m worker` hosts it, with a scripted model and one read-only tool that returns 2 kB."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import worker
from activities.agents import Agent
from activities.apps import App
from activities.connection import logged_runtime
from activities.idleness import Activity
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.tools.tool import tool
from bench.slices import take
from bench.systems import Incomplete, RunJob
from bench.systems.histories import recorded
from surefoot.client import Client
from workflows.contracts import Limits

__all__ = ["hosting", "loop_factory", "recorded"]

QUEUE = "bench-surefoot"
loop_factory = worker.loop_factory()


@tool(read_only=True)
async def look(number: int) -> str:
    """Read one slice."""
    return take(number)


def _reply(request: ModelRequest) -> dict[str, Any]:
    """The model: it looks as often as its job's message says, then answers.

    It counts nothing itself, neither turns nor tokens: a real one does so elsewhere.
    """
    message, usage = request.transcript[0], {"input_tokens": 1000, "output_tokens": 10}
    assert message.kind == "message"
    if request.turn <= int(message.text):
        return {"calls": [{"tool": "look", "arguments": {"number": request.turn}}], "usage": usage}
    return {"text": "done", "usage": usage}


READER = Agent("reader", Script(_reply), tools=[look], limits=Limits(rounds=None, tool_calls=None))


@asynccontextmanager
async def hosting(place: str) -> AsyncIterator[RunJob]:
    temporal = await worker.connect(target_host=place, runtime=logged_runtime("WARN"))
    client = Client(temporal, task_queue=QUEUE)

    async def run(job: str, rounds: int) -> None:
        outcome = await (await client.start("reader", str(rounds), id=job)).outcome()
        if outcome.status != "complete" or outcome.usage.tool_calls != rounds:
            raise Incomplete(f"{outcome.status} after {outcome.usage.tool_calls} tool calls: {outcome.summary}")

    async with worker.hosting(temporal, App([READER]), task_queue=QUEUE, interceptors=[Activity()]):
        yield run
