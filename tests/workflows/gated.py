"""What the tests of the gate share: a write tool that counts, an agent that wants to use it, and ways to wait."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import Tool, tool
from surefoot.client import Client
from surefoot.job import Job
from tests.waiting import until
from tests.workflows.scripting import call as call
from workflows.contracts import Entry, JobView, Pending, Result

TEMPORAL = Path(sys.executable).with_name("temporal")


class Ledger:
    """What the write tools of one test did, in order."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def tool(self, name: str = "save", **options: Any) -> Tool:
        async def save(key: str) -> str:
            """Save something."""
            self.written.append(f"{name} {key}")
            return f"{name} {key} done"

        return tool(**{"name": name, **options})(save)


def writer(
    name: str, *rounds: Sequence[dict[str, object]], tools: Sequence[Tool], text: str = "I must", **options: Any
) -> Agent:
    """An agent that asks for these rounds of calls, and then is done."""
    replies: list[dict[str, object]] = [{"text": text, "calls": list(calls)} for calls in rounds]
    return Agent(name, Script([*replies, {"text": "done", "repeat": True}]), tools=tools, **options)


async def waiting(job: Job, count: int = 1) -> list[Pending]:
    """The pending calls, once there are `count` of them."""
    view = await until(job.view, lambda view: len(view.pending) == count or view.state == "ended")
    assert len(view.pending) == count, view
    return view.pending


async def recorded(client: Client, job: Job) -> list[Pending]:
    """The pending calls as the server has them recorded; a query may be answered from a task that is not, earlier."""
    await until(client.inbox, lambda items: any(item.job == job.id for item in items))
    return (await job.view()).pending


async def started(client: Client, agent: str, count: int = 1, **more: Any) -> tuple[Job, list[Pending]]:
    """A new job of `agent`, waiting for `count` decisions."""
    job = await client.start(agent, "go", **more)
    return job, await waiting(job, count)


async def ended(job: Job) -> JobView:
    """The job's last state."""
    return await until(job.view, lambda view: view.state == "ended")


def results(entries: Sequence[Entry]) -> list[Result]:
    return [entry for entry in entries if isinstance(entry, Result)]


async def cli(client: Client, *arguments: str) -> tuple[int, str]:
    """Exit code and output of Temporal's own command line against the test server."""
    address = client.temporal.service_client.config.target_host
    process = await asyncio.create_subprocess_exec(
        str(TEMPORAL), *arguments, "--address", address,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()
