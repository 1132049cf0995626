"""Parallel reads may finish in any order: results stand in the calls' order, and the history replays."""

import asyncio
import operator
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import permutations

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.job import Job
from tests.conftest import Host
from tests.replaying import assert_replays
from tests.waiting import Flag, until
from tests.workflows.gated import results
from tests.workflows.scripting import call, calls

pytestmark = pytest.mark.cold

KEYS = "abc"


class Held:
    """A read that waits until its key is let go."""

    def __init__(self) -> None:
        self.let_go = {key: Flag() for key in KEYS}
        self.entered: set[str] = set()

    def agent(self) -> Agent:
        @tool(read_only=True)
        async def read(key: str) -> str:
            self.entered.add(key)
            await self.let_go[key].wait()
            return f"value of {key}"

        script = Script([calls(*(call("read", key=key) for key in KEYS)), {"text": "done"}])
        return Agent("reader", script, tools=[read])


async def tool_calls(job: Job) -> int:
    return (await job.view()).usage.tool_calls


@pytest.mark.parametrize("order", ["".join(order) for order in permutations(KEYS)])
async def test_every_order_of_completion_gives_one_transcript_and_replays(host: Host, order: str) -> None:
    held = Held()

    async def entered() -> set[str]:
        return held.entered

    async with host(held.agent()) as client:
        job = await client.start("reader", "go")
        await until(entered, lambda seen: len(seen) == 3)
        for done, key in enumerate(order, start=1):
            held.let_go[key].set()
            await until(lambda: tool_calls(job), partial(operator.eq, done))
        outcome = await job.outcome()
        told = results(await job.transcript())
        await assert_replays(client.temporal, job.id)

    assert outcome.status == "complete"
    assert [result.content for result in told] == ["value of a", "value of b", "value of c"]


@pytest.mark.parametrize("act", [Job.cancel, Job.stop], ids=["cancel", "stop"])
async def test_a_job_ended_in_the_midst_of_previews_replays(host: Host, act: Callable[[Job], Awaitable[None]]) -> None:
    let_go = threading.Event()
    looking: list[str] = []

    def preview(key: str) -> str:
        looking.append(key)
        let_go.wait(20)
        return f"would save {key}"

    async def under_way() -> int:
        return len(looking)

    @tool(preview=preview)
    async def save(key: str) -> str:
        return "saved"

    script = Script([calls(*(call("save", key=key) for key in KEYS)), {"text": "done"}])
    async with host(Agent("writer", script, tools=[save])) as client:
        job = await client.start("writer", "go")
        await until(under_way, partial(operator.eq, 3))
        await act(job)
        outcome = await asyncio.wait_for(job.outcome(), 10)
        let_go.set()
        await assert_replays(client.temporal, job.id)

    assert outcome.status == "cancelled"
