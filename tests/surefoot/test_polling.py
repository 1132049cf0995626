"""A worker's health is what the server saw of it, not whether its process is there."""

import socket
from datetime import timedelta

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from surefoot import polling
from surefoot.errors import NoWorker, ServerNotReached
from surefoot.polling import check_here, list_pollers
from tests.conftest import Host
from tests.waiting import until

pytestmark = pytest.mark.server
HERE = socket.gethostname()
AGENT = Agent("clerk", model="scripted:anything")


async def test_a_running_worker_is_found_on_its_host(temporal: Temporal, host: Host) -> None:
    async with host(AGENT) as client:
        poller = await seen(temporal, client.task_queue)

        assert poller.identity == temporal.identity
        assert (await check_here(temporal, client.task_queue, HERE)).identity == temporal.identity


async def test_a_worker_of_another_host_does_not_make_this_one_healthy(temporal: Temporal, host: Host) -> None:
    async with host(AGENT) as client:
        await seen(temporal, client.task_queue)

        with pytest.raises(NoWorker) as caught:
            await check_here(temporal, client.task_queue, "elsewhere")

    assert str(caught.value) == (
        f"no worker on elsewhere polls queue {client.task_queue}; seen: {temporal.identity}. Look into its log"
    )


async def test_a_worker_that_was_not_seen_for_a_while_counts_as_gone(
    temporal: Temporal, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(AGENT) as client:
        await seen(temporal, client.task_queue)
        monkeypatch.setattr(polling, "FRESH", timedelta(0))

        assert await list_pollers(temporal, client.task_queue) == []


async def test_a_queue_that_nobody_serves_is_unhealthy(temporal: Temporal) -> None:
    with pytest.raises(NoWorker, match="no worker on here polls queue nobodys; seen: none"):
        await check_here(temporal, "nobodys", "here")


async def test_a_namespace_that_is_missing_is_named(temporal: Temporal) -> None:
    config = temporal.config()
    config["namespace"] = "missing"

    with pytest.raises(ServerNotReached, match="in namespace missing: Namespace missing is not found"):
        await list_pollers(Temporal(**config), "surefoot")


def test_the_health_check_says_why_it_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "localhost:1")

    assert polling.main() == 1
    assert "can't connect to the Temporal server at localhost:1" in capsys.readouterr().out


async def seen(temporal: Temporal, queue: str) -> polling.Poller:
    """The queue's only worker, as soon as its first poll has arrived."""
    (poller,) = await until(lambda: list_pollers(temporal, queue))
    return poller
