"""A preview that hangs keeps nobody waiting: neither who decides nor who ends the job."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.job import Job
from tests.conftest import QUICK, Host
from tests.waiting import until
from tests.workflows.gated import waiting
from tests.workflows.scripting import call, calls


class Slow:
    """A write whose preview takes until it is let go."""

    def __init__(self) -> None:
        self.previews, self.let_go = 0, threading.Event()
        self.saved: list[str] = []

    def preview(self, key: str) -> str:
        self.previews += 1
        self.let_go.wait(20)
        return f"would save {key}"

    def agent(self) -> Agent:
        @tool(preview=self.preview)
        async def save(key: str) -> str:
            self.saved.append(key)
            return "saved"

        script = Script([calls(call("save", key="a")), {"text": "done"}], closing={"text": "summed up"})
        return Agent("writer", script, tools=[save])


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.let_go.set()


async def _approve(job: Job) -> None:
    [pending] = await waiting(job)
    await job.approve(pending.call, by="ann")


@pytest.mark.parametrize(
    ("act", "status", "answer", "saved"),
    [
        (_approve, "complete", "done", ["a"]),
        (Job.stop, "cancelled", "summed up", []),
        (Job.cancel, "cancelled", None, []),
    ],
    ids=["approve", "stop", "cancel"],
)
async def test_a_preview_under_way_holds_up_nothing(
    host: Host,
    slow: Slow,
    act: Callable[[Job], Awaitable[None]],
    status: str,
    answer: str | None,
    saved: list[str],
) -> None:
    async with host(slow.agent()) as client:
        job = await client.start("writer", "go")
        await until(lambda: _previewed(slow))
        await act(job)
        outcome = await asyncio.wait_for(job.outcome(), 5)

    assert (outcome.status, outcome.answer) == (status, answer)
    assert slow.saved == saved


async def test_a_preview_longer_than_the_heartbeat_timeout_is_made_once(host: Host, slow: Slow) -> None:
    async with host(slow.agent(), settings=replace(QUICK, heartbeat_seconds=0.3)) as client:
        job = await client.start("writer", "go")
        await until(lambda: _previewed(slow))
        threading.Timer(1.0, slow.let_go.set).start()
        view = await until(job.view, lambda view: bool(view.pending and view.pending[0].preview))
        await job.cancel()

    assert view.pending[0].preview == "would save a"
    assert slow.previews == 1


async def _previewed(slow: Slow) -> bool:
    return slow.previews > 0
