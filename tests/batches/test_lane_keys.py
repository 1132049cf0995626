"""Lanes and what they stand on when it goes, or is shared: the key, a provider batch's workflow, its results, apps."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from surefoot.batches.lanes import hold_lane, resume_lane
from tests.batch_apis import StandIn, stand_in
from tests.batches.lanes import SETTINGS, TERMS, Run, ended, running, settled
from tests.conftest import Host, hosts
from tests.waiting import Flag, until
from workflows.lanes.contracts import LANE_WORKFLOW


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield server


async def test_requests_that_wait_when_the_key_is_changed_go_to_the_lane_of_the_new_key(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("worker", server.model)
    async with host(agent, settings=SETTINGS) as client:
        run = Run(client, server)
        batch = await run.submit("rekeyed", 1)
        await until(run.lanes, lambda lanes: bool(lanes and lanes[0].lines))
        (first,) = await run.ids(LANE_WORKFLOW)
        await hold_lane(client.temporal, first, by="ann")
        await until(run.lanes, lambda lanes: lanes[0].hold is not None)
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    async with host(agent, settings=SETTINGS) as client:
        await resume_lane(client.temporal, first, by="ann")
        rows = await ended(batch)
        lanes = await until(run.lanes, lambda lanes: not any(lane.lines or lane.out for lane in lanes))
        await run.end()

    assert [row.status for row in rows] == ["complete"]
    assert sorted(lane.books.answered for lane in lanes) == [0, 1]
    assert (len(server.books.batches), server.books.most_billed, server.books.alone) == (1, 1, [])


async def test_a_provider_batch_that_another_key_may_have_created_is_created_by_no_other_key(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, go = Agent("worker", server.model), Flag()

    async def created(point: str) -> None:
        if point == "created":
            await go.wait()

    server.books.point = created

    async def batches() -> int:
        return len(server.books.batches)

    async with host(agent, settings=SETTINGS) as client:
        run = Run(client, server)
        batch = await run.submit("taken", 2)
        await until(batches)
    monkeypatch.setenv("OPENAI_API_KEY", "another")

    async def failure() -> str:
        (intent,) = await run.intents()
        description = await run.client.temporal.get_workflow_handle(intent).describe()
        return "".join(each.last_failure.message for each in description.raw_description.pending_activities)

    async with host(agent, settings=SETTINGS):
        told = await until(failure, lambda told: "another key" in told)
    sent = len(server.books.batches)
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    go.set()
    async with host(agent, settings=SETTINGS):
        rows = await ended(batch)
        await settled(run)
        await run.end()

    assert "start a worker with the key that was there before" in told
    assert (sent, len(server.books.batches), server.books.most_billed) == (1, 1, 1)
    assert {row.status for row in rows} == {"complete"}


async def test_a_provider_batch_that_was_terminated_does_not_keep_its_lane_full(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.lanes.lane.OUT_LOOK", timedelta(seconds=1))
    server.books.held = True
    terms = TERMS.model_copy(update={"most": 2, "requests": 2, "room": 0.5})
    async with running(host, server, Agent("worker", server.model), terms=terms) as run:
        lost = await run.submit("lost", 2)
        await until(run.lane, lambda lane: lane.full and bool(lane.out))
        other = await run.submit("other", 1)
        (intent,) = await until(run.intents)
        await run.client.temporal.get_workflow_handle(intent).terminate("a test")
        server.books.held = False
        rows = await ended(other)
        lane = await settled(run)
        await lost.cancel("cancel", by="ann")
        await asyncio.wait_for(lost.handle().result(), 60)

    assert [row.status for row in rows] == ["complete"]
    assert not lane.full


async def test_results_that_can_not_be_read_are_given_up_when_nobody_waits_for_them_any_more(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.lanes.provider_batch.RESULTS_HOURS", 0.0)
    monkeypatch.setattr("workflows.lanes.provider_batch.LEAST", timedelta(seconds=3))

    async def no_results(point: str) -> None:
        if point == "look" and server.books.batches:
            server.books.batches[0].results = [("x", "answered", {})]
        if point == "results":
            raise ConnectionError("the file is gone")

    server.books.point = no_results
    async with running(host, server, Agent("worker", server.model)) as run:
        rows = await ended(await run.submit("unread", 2))
        lane = await settled(run)

    assert [row.status for row in rows] == ["complete", "complete"]
    assert (lane.books.answered, len(server.books.alone)) == (0, 2)


async def test_two_apps_with_one_key_have_a_lane_each_and_their_own_agents(
    temporal: Temporal, server: StandIn, tmp_path: Path
) -> None:
    terms = TERMS.model_copy(update={"quiet": 1.0})
    shop, desk = (Agent("worker", server.model, instructions=f"You are the {who}.") for who in ("shop", "desk"))
    one, other = (hosts(temporal, f"lanes-of-{name}", tmp_path) for name in ("shop", "desk"))
    async with running(one, server, shop, terms=terms) as first, running(other, server, desk, terms=terms) as second:
        batches = [await first.submit("in-shop", 1), await second.submit("at-desk", 1)]
        rows = [await ended(batch) for batch in batches]
        lanes = [await settled(first), await settled(second)]

    assert [row.status for each in rows for row in each] == ["complete", "complete"]
    assert [lane.books.answered for lane in lanes] == [1, 1]
    asked = " ".join(server.books.billed)
    assert ("You are the shop." in asked, "You are the desk." in asked) == (True, True)
    assert (len(server.books.batches), server.books.most_billed, server.books.alone) == (2, 1, [])
