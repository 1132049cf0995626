"""What the tests of sub-agents share: a desk that asks researchers, and what became of them."""

from collections.abc import Sequence
from typing import Any

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import Tool
from surefoot.client import Client
from surefoot.job import Job
from tests.waiting import until
from tests.workflows.scripting import Scripted, call, calls, look_up
from workflows.contracts import JobView

DONE: Scripted = {"text": "done", "repeat": True}


def researcher(*replies: Scripted, name: str = "researcher", tools: Sequence[Tool] = (look_up,), **more: Any) -> Agent:
    """An agent that gives these replies."""
    return Agent(name, Script([*replies]), tools=tools, **more)


def desk(*asked: Agent, times: int = 1, tools: Sequence[Tool] = (), **more: Any) -> Agent:
    """An agent that in its first turn asks each of these agents so many times, and quotes the first result."""
    turn = calls(*(call(agent.name, message=f"look {n + 1}") for agent in asked for n in range(times)))
    replies: list[Scripted] = [turn, {"text": "they say: {result:1}"}, DONE]
    kept = [*tools, *(agent.as_tool(f"Asks {agent.name}.") for agent in asked)]
    return Agent("desk", Script(replies), tools=kept, **more)


def child(client: Client, job: Job, call_id: str = "c1-1") -> Job:
    return client.job(f"{job.id}.{call_id}")


async def child_waits(client: Client, job: Job, call_id: str = "c1-1") -> JobView:
    """The child's state, once a person is awaited in it."""
    await has_child(job)
    return await until(child(client, job, call_id).view, lambda view: view.state == "waiting")


async def has_child(job: Job, count: int = 1) -> JobView:
    return await until(job.view, lambda view: len(view.children) >= count)
