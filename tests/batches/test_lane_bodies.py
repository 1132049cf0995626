"""A request in the batch lane is the request that is sent alone, for every kind of agent and every round."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from activities.agents import Agent
from activities.tools.tool import tool
from stand_ins.books import Body
from tests.batch_apis import APIS, StandIn, stand_in
from tests.batches.lanes import Run, ended, running
from tests.conftest import Host
from workflows.contracts import JsonObject

EUROS: JsonObject = {"type": "object", "properties": {"euros": {"type": "integer"}}, "required": ["euros"]}


@tool(read_only=True)
def look(key: str = "a") -> str:
    """Look something up."""
    return f"seen {key}"


AGENTS: dict[str, dict[str, object]] = {
    "tools": {"tools": [look], "instructions": "Look twice."},
    "settings": {"settings": {"temperature": 0.2}, "max_output_tokens": 500},
    "schema": {"tools": [look], "tool_calling": "schema"},
    "output": {"output": EUROS, "output_retries": 0},
    "cite": {"tools": [look], "cite": True},
}


@pytest.fixture(params=APIS)
async def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in(request.param) as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield server


async def test_the_same_jobs_send_the_same_bodies_in_either_lane(host: Host, server: StandIn) -> None:
    answer = server.books.answer
    server.books.answer = lambda body: server.calling() if has_tools(body) and not has_results(body) else answer(body)
    agents = [Agent(name, server.model, **fields) for name, fields in AGENTS.items()]  # type: ignore[arg-type]
    async with running(host, server, *agents) as run:
        await all_done(run, "sync")
        alone = set(server.books.billed)
        assert server.books.batches == []
        server.books.billed.clear()
        server.books.alone.clear()
        await all_done(run, "batch")

    assert set(server.books.billed) == alone
    assert len(alone) > len(AGENTS)
    assert server.books.alone == []


async def all_done(run: Run, lane: str) -> None:
    """A job of each agent, side by side."""
    batches = [await run.submit(f"{lane}-{name}", 1, agent=name, lane=lane) for name in AGENTS]
    await asyncio.gather(*map(ended, batches))


def has_tools(body: Body) -> bool:
    return bool(body.get("tools"))


def has_results(body: Body) -> bool:
    return "seen a" in str(body)
