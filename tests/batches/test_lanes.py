"""The batch lane on a real server: requests of many jobs become few provider batches, and each job goes on alone."""

from collections.abc import AsyncIterator

import pytest

from activities.agents import Agent
from activities.tools.tool import tool
from tests.batch_apis import APIS, StandIn, stand_in
from tests.batches.lanes import ended, running, settled
from tests.conftest import Host


@pytest.fixture(params=APIS)
async def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in(request.param) as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield server


def worker(server: StandIn, **more: object) -> Agent:
    return Agent("worker", server.model, **more)  # type: ignore[arg-type]


async def test_requests_of_many_jobs_are_one_provider_batch_at_half_price(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        rows = await ended(await run.submit("half", 12))
        lane = await settled(run)

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, 13)]
    assert (len(server.books.batches), server.books.alone, server.books.most_billed) == (1, [], 1)
    for row in rows:
        assert row.outcome is not None
        used = row.outcome.usage
        assert (used.input_tokens, used.output_tokens, used.model_calls) == (100, 10, 1)
        assert used.cost_usd == used.saved_usd > 0
        assert row.outcome.batched_seconds > 0
    assert (lane.books.batches, lane.books.answered, lane.books.late) == (1, 12, 0)
    assert lane.books.cost_usd == pytest.approx(sum(row.outcome.usage.cost_usd for row in rows if row.outcome))


async def test_every_round_of_every_job_goes_through_the_lane_with_its_tools(host: Host, server: StandIn) -> None:
    @tool(read_only=True)
    def look() -> str:
        return "seen"

    answer = server.books.answer
    server.books.answer = lambda body: server.calling() if str(body).count("seen") < 2 else answer(body)
    async with running(host, server, worker(server, tools=[look])) as run:
        rows = await ended(await run.submit("rounds", 10))
        lane = await settled(run)

    assert {row.status for row in rows} == {"complete"}
    assert [row.outcome.usage.model_calls for row in rows if row.outcome] == [3] * 10
    assert (lane.books.batches, lane.books.answered, server.books.most_billed) == (3, 30, 1)
    assert server.books.alone == []
