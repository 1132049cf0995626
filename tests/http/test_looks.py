"""Followers of one job, or of one batch, share one look at it."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import Client as Temporal

from surefoot.batches import Batch, BatchView
from surefoot.errors import NoWorker
from surefoot.glances import Glance
from surefoot.http import looks
from surefoot.http.looks import Looks
from surefoot.job import Job

START = datetime(2026, 1, 1, tzinfo=UTC)


class Server:
    """How often the server was asked for a job, and what mark it says."""

    def __init__(self) -> None:
        self.asked = 0
        self.says: Callable[[], object] = lambda: self.asked

    async def glance(self) -> Glance:
        self.asked += 1
        await asyncio.sleep(0)
        return Glance(self.says(), None)


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()

    async def glance(_: Job) -> Glance:
        return await server.glance()

    monkeypatch.setattr(Job, "glance", glance)
    return server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(looks, "time", clock)
    return clock


async def test_two_hundred_streams_ask_the_server_once(temporal: Temporal, server: Server, clock: Clock) -> None:
    shared = Looks()
    with ExitStack() as streams:
        jobs = [streams.enter_context(shared.following(Job(temporal, "j"))) for _ in range(200)]
        first = await asyncio.gather(*(job.glance() for job in jobs))
        clock.now += 0.6
        second = await asyncio.gather(*(job.glance() for job in jobs))

    assert ({each.mark for each in first}, {each.mark for each in second}, server.asked) == ({1}, {2}, 2)


async def test_a_job_that_has_stood_still_for_long_is_looked_at_less_often(
    temporal: Temporal, server: Server, clock: Clock
) -> None:
    server.says = lambda: "the same"
    with Looks().following(Job(temporal, "j")) as job:
        for _ in range(120):
            await job.glance()
            clock.now += 1
        busy = server.asked
        for _ in range(30):
            await job.glance()
            clock.now += 1
        idle = server.asked - busy
        server.says = lambda: "another"
        seen = [await job.glance()]
        clock.now += 3
        seen.append(await job.glance())
        clock.now += 0.6
        before = server.asked
        await job.glance()

    assert (busy, idle) == (80, 10)
    assert (seen[-1].mark, server.asked - before) == ("another", 1)


async def test_what_goes_wrong_is_heard_by_all_who_asked_and_asked_again(temporal: Temporal, server: Server) -> None:
    def fails() -> object:
        raise NoWorker("the server is gone")

    server.says = fails
    shared = Looks()
    with shared.following(Job(temporal, "j")) as one, shared.following(Job(temporal, "j")) as other:
        errors = await asyncio.gather(one.glance(), other.glance(), return_exceptions=True)
        server.says = lambda: "back"
        seen = await one.glance()

    assert [type(error) for error in errors] == [NoWorker, NoWorker]
    assert (seen.mark, server.asked) == ("back", 2)


async def test_one_who_leaves_takes_nothing_from_the_others(temporal: Temporal, server: Server) -> None:
    shared = Looks()
    with shared.following(Job(temporal, "j")) as one, shared.following(Job(temporal, "j")) as other:
        leaving = asyncio.create_task(one.glance())
        staying = asyncio.create_task(other.glance())
        await asyncio.sleep(0)
        leaving.cancel()
        seen = await staying

    assert (seen.mark, server.asked) == (1, 1)
    assert shared._looks == {}


def view(done: int, **more: Any) -> BatchView:
    return BatchView(batch="b", state="running", lines=10, done=done, concurrency=1, submitted_at=START, **more)


async def test_streams_of_one_batch_count_its_jobs_once_and_less_often_while_it_stands_still(
    temporal: Temporal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, done = 0, 1

    async def look(_: Batch) -> BatchView:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return view(done, rate=float(asked))  # which changes though nothing happens

    async def looks_within(seconds: int) -> int:
        before = asked
        for _ in range(seconds):
            await asyncio.gather(*(batch.view() for batch in batches))
            clock.now += 1
        return asked - before

    monkeypatch.setattr(Batch, "view", look)
    shared = Looks()
    with ExitStack() as streams:
        batches = [streams.enter_context(shared.following_batch(Batch(temporal, "b"))) for _ in range(200)]
        busy = await looks_within(30)
        idle = await looks_within(30)
        done = 2
        clock.now += 3
        seen = [(await batch.view()).done for batch in batches]
        again = await looks_within(10)

    assert (busy, idle, again) == (30, 10, 9)
    assert seen == [2] * 200
    assert shared._looks == {}
