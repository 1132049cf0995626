"""Faults of batch APIs: whatever goes wrong, every job is done, nothing that was answered is asked again.

What a fault costs is in the numbers of provider batches: one that only hides its id is none more.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from stand_ins.books import Batch
from surefoot.batches.lanes import hold_lane, list_lanes, resume_lane
from surefoot.errors import NoSuchLane
from tests.batch_apis import stand_in
from tests.batches.lanes import ASKED, TERMS, ModelsOfStandIn, ended, running, settled
from tests.conftest import Host, hosts
from tests.waiting import until

JOBS = 6


@dataclass
class Fault:
    """A fault of one provider, and how many provider batches there are in all, and requests that are sent alone."""

    api: str
    name: str
    batches: int
    alone: int = 0

    def __str__(self) -> str:
        return f"{self.api}-{self.name}"


@dataclass
class Came:
    """What is known in the end. `billed` is how often each request was."""

    answers: list[str | None]
    batches: int
    alone: int
    billed: list[int]
    answered: int
    late: int
    faults_left: int


FAULTS = [
    Fault("openai", "reply_dropped", 1),
    Fault("openai", "empty_id", 1),
    Fault("openai", "file_not_found", 1),
    Fault("openai", "key_refused", 1),
    Fault("openai", "billing_limit", 1),
    Fault("openai", "token_limit", 2),
    Fault("openai", "no_output_file", 1, alone=JOBS),
    Fault("openai", "no_files", 2),
    Fault("openai", "shuffled", 1),
    Fault("openai", "missing_line", 2),
    Fault("openai", "doubled_line", 1),
    Fault("openai", "half_failed", 2),
    Fault("openai", "expired", 2),
    Fault("openai", "cancelled", 2),
    Fault("openai", "credit", 2),
    Fault("anthropic", "reply_dropped", 1),
    Fault("anthropic", "empty_id", 1),
    Fault("anthropic", "key_refused", 1),
    Fault("anthropic", "billing_limit", 1),
    Fault("anthropic", "half_failed", 2),
    Fault("anthropic", "expired", 2),
    Fault("anthropic", "credit", 2),
]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_every_job_is_done_and_nothing_is_billed_twice(
    api: str, temporal: Temporal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each fault has a provider and a worker of its own; they go side by side, as nearly all that they do is wait."""
    monkeypatch.setattr("activities.hosted.Models", ModelsOfStandIn)
    faults = [fault for fault in FAULTS if fault.api == api]
    async with asyncio.TaskGroup() as tasks:
        seen = {
            fault.name: tasks.create_task(came_of(fault, hosts(temporal, f"fault-{fault}", tmp_path)))
            for fault in faults
        }

    assert {name: task.result() for name, task in seen.items()} == {fault.name: expected(fault) for fault in faults}


async def came_of(fault: Fault, host: Host) -> Came:
    """What became of a batch whose provider had this fault once."""
    async with stand_in(fault.api) as server:
        ASKED.set(server)
        books = server.books
        books.faults[fault.name] = 1
        async with running(host, server, Agent("worker", server.model)) as run:
            rows = await ended(await run.submit(fault.name, JOBS))
            lane = await settled(run)
    return Came(
        answers=[row.answer for row in rows],
        batches=len(books.batches),
        alone=len(books.alone),
        billed=sorted(books.billed.values()),
        answered=lane.books.answered,
        late=lane.books.late,
        faults_left=books.faults[fault.name],
    )


def expected(fault: Fault) -> Came:
    return Came(
        answers=[f"heard say {n}" for n in range(1, JOBS + 1)],
        batches=fault.batches,
        alone=fault.alone,
        billed=[1] * JOBS,
        answered=JOBS - fault.alone,
        late=0,
        faults_left=0,
    )


async def test_a_lane_without_credit_waits_for_whoever_lets_it_go_on(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        server.books.faults["credit"] = 1
        terms = TERMS.model_copy(update={"pause": 3600.0})
        async with running(host, server, Agent("worker", server.model), terms=terms) as run:
            batch = await run.submit("poor", JOBS)
            lane = await until(run.lane, lambda lane: lane.hold is not None)
            view = await until(batch.view, lambda view: view.done == 1)

            assert "insufficient_quota" in (lane.hold or "")
            assert len(lane.lines) == JOBS - 1
            assert (view.batched, view.failed, view.incomplete) == (JOBS - 1, 0, 0)
            assert len(server.books.batches) == 1

            (seen,) = [view for view in await list_lanes(run.client.temporal, run.client.task_queue) if view.waiting]
            assert (seen.waiting, seen.sent, seen.hold) == (JOBS - 1, 0, lane.hold)
            await resume_lane(run.client.temporal, seen.lane, by="ann")
            rows = await ended(batch)

    assert {row.status for row in rows} == {"complete"}
    assert (len(server.books.batches), server.books.most_billed) == (2, 1)


async def test_a_lane_that_somebody_pauses_sends_nothing_until_it_is_resumed(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        terms = TERMS.model_copy(update={"quiet": 2.0})
        async with running(host, server, Agent("worker", server.model), terms=terms) as run:
            batch = await run.submit("held", 2)
            await until(run.lane, lambda lane: len(lane.lines) == 2)
            (id,) = await run.ids("Lane")
            await hold_lane(run.client.temporal, id, by="ann")
            lane = await until(run.lane, lambda lane: lane.hold is not None)
            await run.submit("later", 1)
            await until(run.lane, lambda lane: len(lane.lines) == 3)
            assert (lane.hold, lane.hold_until, server.books.batches) == ("paused by ann", None, [])
            await resume_lane(run.client.temporal, id, by="ann")
            assert len(await ended(batch)) == 2
            with pytest.raises(NoSuchLane, match="surefoot batch lanes"):
                await resume_lane(run.client.temporal, "lane/none", by="ann")

    assert len(server.books.batches) == 1


async def test_a_batch_of_others_that_looks_like_ours_is_told_by_its_names(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic's list shows nothing of ours: when a reply is lost, a batch of another program may be taken for it."""
    async with stand_in("anthropic") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        books = server.books

        async def somebody_else_is_quicker(point: str) -> None:
            if point == "created" and len(books.batches) == 1:
                order = books.batches[0].order
                others = Batch("msgbatch_others", time.time(), order)
                others.results = [(f"their-{n}", "failed", {"type": "error"}) for n in range(JOBS)]
                books.batches.append(others)

        books.point = somebody_else_is_quicker
        books.faults["reply_dropped"] = 1
        async with running(host, server, Agent("worker", server.model)) as run:
            rows = await ended(await run.submit("foreign", JOBS))

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, JOBS + 1)]
    assert (books.most_billed, len(books.batches), books.alone) == (1, 2, [])
