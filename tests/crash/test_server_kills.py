"""kill -9 of the Temporal server: from its database file every job goes on, and no step is taken twice."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers
from tests.crash.servers import Server

pytestmark = pytest.mark.crash


async def test_a_server_killed_during_a_write_and_again_during_a_read_repeats_neither(
    server: Server, own_workers: Workers
) -> None:
    own_workers.stop("charged-1")
    own_workers.stop("begin-a")
    client = Client(await server.connect(), task_queue=own_workers.queue)
    await own_workers.start(SUREFOOT_HEARTBEAT_SECONDS="20")
    job = await client.start("charger-and-reader", "go")
    for point in ("charged-1", "begin-a"):
        await own_workers.reached(point)
        await server.kill()
        await server.start()
        own_workers.let_go(point)
    outcome = await asyncio.wait_for(job.outcome(), 60)

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["charged 1", "value of a"]
    assert own_workers.effects() == ["charge 1", "read a"]
    assert own_workers.model_calls("charger-and-reader") == [0, 1, 2]


async def test_a_write_is_not_called_while_the_server_is_away_and_runs_once_when_it_is_back(
    server: Server, own_workers: Workers
) -> None:
    own_workers.stop("rule-charge", 2)
    client = Client(await server.connect(), task_queue=own_workers.queue)
    await own_workers.start()
    job = await client.start("charger", "go")
    await own_workers.reached("rule-charge")
    await server.kill()
    own_workers.let_go("rule-charge")
    await own_workers.said("Completing activity as failed")
    while_away = own_workers.effects()
    await server.start()
    outcome = await asyncio.wait_for(job.outcome(), 60)

    assert while_away == []
    assert outcome.status == "complete"
    assert own_workers.effects() == ["charge 1"]
