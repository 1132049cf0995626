"""kill -9 at every step of a provider batch: there is one batch for the intent, and each job gets its one answer."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from surefoot.batches.batch import Batch
from surefoot.batches.submitting import submit
from surefoot.client import Client
from tests.batch_apis import StandIn, stand_in
from tests.batches.lanes import TERMS, Run, ended, settled
from tests.crash.processes import Workers
from tests.crash.servers import Server
from tests.waiting import Flag, until
from workflows.batches.contracts import BatchLine, BatchOrder

APP = Path(__file__).parent / "apps" / "lane_app.py"
JOBS = 36
"""More than are handed back at the same time, in each half of the results."""

pytestmark = pytest.mark.crash

STEPS = ("upload", "uploaded", "create", "created", "look", "results")


# The Chat API goes by the same batches as the Responses API.
CASES = [(api, step) for api in ("openai", "anthropic") for step in STEPS if api == "openai" or "upload" not in step]


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
async def held(request: pytest.FixtureRequest) -> AsyncIterator["Held"]:
    api, step = request.param
    async with stand_in(api) as server:
        yield Held(server, step)


class Held:
    """A provider that is stopped in the middle of a step, the first time that it comes there."""

    def __init__(self, server: StandIn, step: str) -> None:
        self.server, self.step = server, step
        self.reached, self._go_on = Flag(), asyncio.Event()
        server.books.point = self._point

    async def _point(self, point: str) -> None:
        if point == self.step and not self.reached.is_set():
            self.reached.set()
            await self._go_on.wait()

    def go_on(self) -> None:
        self._go_on.set()


@pytest.fixture
async def serving(temporal: Temporal, workers: Workers, tmp_path: Path) -> AsyncIterator[Workers]:
    """As `workers`, with the agents of the lane's app."""
    own = Workers(temporal.service_client.config.target_host, workers.queue, tmp_path, APP)
    yield own
    await own.end()


async def submitted(client: Client, agent: str) -> Batch:
    lines = [BatchLine(number=n, custom_id=f"id-{n}", input=f"say {n}") for n in range(1, JOBS + 1)]
    order = BatchOrder(agent=agent, lane="batch")
    id = f"killed-{client.task_queue}"
    assert await submit(client.temporal, client.task_queue, lines, order, id=id, digest="x", concurrency=JOBS)
    return Batch(client.temporal, id)


async def test_a_worker_killed_at_any_step_leaves_one_batch(serving: Workers, client: Client, held: Held) -> None:
    books, terms = held.server.books, TERMS.model_copy(update={"beat": 1.0, "quiet": 1.0})
    settings = {**held.server.settings, "SUREFOOT_LANE_TERMS": terms.model_dump_json()}
    first = await serving.start(**settings)
    batch = await submitted(client, held.server.api)
    await held.reached.wait()
    await first.kill()
    held.go_on()
    await serving.start(**settings)
    rows = await ended(batch)
    run = Run(client, held.server)
    lane = await settled(run)
    await run.end()

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, JOBS + 1)]
    assert (len(books.batches), books.alone) == (1, [])
    assert (books.most_billed, len(books.billed)) == (1, JOBS)
    assert [row.outcome.usage.model_calls for row in rows if row.outcome] == [1] * JOBS
    assert (lane.books.batches, lane.books.answered) == (1, JOBS)
    assert lane.books.cost_usd == pytest.approx(sum(row.outcome.usage.cost_usd for row in rows if row.outcome))


@pytest.fixture
async def serving_alone(server: Server, tmp_path: Path) -> AsyncIterator[Workers]:
    """As `serving`, on a server that can be killed."""
    own = Workers(server.address, f"crash-{uuid.uuid4().hex[:12]}", tmp_path, APP)
    yield own
    await own.end()
    assert own.alive() == []


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_server_killed_while_a_provider_batch_is_out_finds_it_again(
    server: Server, serving_alone: Workers, api: str
) -> None:
    async with stand_in(api) as provider:
        books, terms = provider.books, TERMS.model_copy(update={"quiet": 1.0, "beat": 20.0})
        books.held = True
        await serving_alone.start(**provider.settings, SUREFOOT_LANE_TERMS=terms.model_dump_json())
        batch = await submitted(Client(await server.connect(), task_queue=serving_alone.queue), api)
        await until(lambda: taken(provider), lambda count: count == 1)
        await until(batch.view, lambda view: view.batched == JOBS)
        await server.kill()
        await server.start()
        books.held = False
        client = Client(await server.connect(), task_queue=serving_alone.queue)
        rows = await ended(client.batches[batch.id])
        lane = await settled(Run(client, provider))

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, JOBS + 1)]
    assert (len(books.batches), books.alone) == (1, [])
    assert (books.most_billed, len(books.billed)) == (1, JOBS)
    assert (lane.books.batches, lane.books.answered) == (1, JOBS)


async def taken(provider: StandIn) -> int:
    """How many batches the provider has."""
    return len(provider.books.batches)
