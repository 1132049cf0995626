"""Batches whose jobs begin in a named queue: two windows, one behind the other, and neither leaks a place."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import Client as Temporal

from activities.queues.queue import Queue
from surefoot.batches import Batch, BatchView, results, retry
from surefoot.batches.submitting import submit
from surefoot.client import Client
from tests.queues.test_named_queues import Desk, begun, serving, started
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder


async def submitted(client: Client, agents: str | list[str], *, concurrency: int = 20) -> Batch:
    """A batch with a line for each of these agents, in the queue."""
    lines = [BatchLine(number=n, custom_id=f"id-{n}", input="go", agent=each) for n, each in enumerate(agents, 1)]
    id, order = f"b-{uuid.uuid4().hex[:8]}", BatchOrder(queue="nightly")
    assert await submit(client.temporal, client.task_queue, lines, order, id=id, digest="x", concurrency=concurrency)
    return client.batches[id]


def numbers(view: BatchView) -> tuple[int, int, int]:
    return view.running, view.queued, view.in_queue


async def stands(batch: Batch, running: int, queued: int, in_queue: int) -> BatchView:
    return await until(batch.view, lambda view: numbers(view) == (running, queued, in_queue))


async def ended(batch: Batch) -> BatchView:
    return await until(batch.view, lambda view: view.state == "ended", seconds=60)


@asynccontextmanager
async def one_at_a_time(temporal: Temporal, desk: Desk) -> AsyncIterator[Client]:
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        yield client


async def test_lines_whose_jobs_wait_in_the_queue_are_queued_and_take_their_places_in_the_window(
    temporal: Temporal,
) -> None:
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, "abcdef", concurrency=3)
        await begun(desk, 1)
        view = await stands(batch, running=1, queued=5, in_queue=2)
        queue = await until(client.queues["nightly"].view, lambda seen: seen.queued == 2)
        rows = await client.jobs(batch=batch.id, state="queued")
        desk.go.set()
        last = await ended(batch)
        after = await until(client.queues["nightly"].view, lambda seen: seen.running + seen.queued == 0)

    assert (view.queue, view.state, view.concurrency) == ("nightly", "running", 3)
    assert (queue.running, len(rows)) == (1, 2)
    assert (last.done, last.queued, last.in_queue) == (6, 0, 0)
    assert sorted(desk.begun) == list("abcdef")
    assert after.waiting == 0


async def test_jobs_that_wait_for_long_still_take_their_places_in_the_window(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.batches.tend.FRESH", timedelta(seconds=1))
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, "abcdef", concurrency=2)
        await begun(desk, 1)
        view = await stands(batch, running=1, queued=5, in_queue=1)
        later = view.submitted_at + timedelta(seconds=5)
        view = await until(batch.view, lambda _: datetime.now(UTC) > later)
        desk.go.set()
        last = await ended(batch)

    assert numbers(view) == (1, 5, 1)
    assert last.done == 6


async def test_a_held_batch_begins_no_job_in_the_queue_and_others_go_before_until_it_is_resumed(
    temporal: Temporal,
) -> None:
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, "abc")
        (first,) = await begun(desk, 1)
        await stands(batch, running=1, queued=2, in_queue=2)
        await batch.pause(by="ann", reason="lunch")
        queue = await until(client.queues["nightly"].view, lambda seen: list(seen.held) == [batch.id])
        desk.go.set()
        other = await client.start("d", "go", queue="nightly")
        assert (await other.outcome()).status == "complete"
        held = await stands(batch, running=0, queued=2, in_queue=2)
        began = list(desk.begun)
        await batch.resume(by="ann")
        last = await ended(batch)
        freed = await until(client.queues["nightly"].view, lambda seen: not seen.held)

    assert (queue.hold, held.state, held.hold) == (None, "held", "lunch")
    assert began == [first, "d"]
    assert (last.done, freed.queued) == (3, 0)


async def test_a_batch_that_is_held_before_its_first_job_tells_a_queue_that_was_not_there(temporal: Temporal) -> None:
    desk = Desk()
    desk.go.set()
    queue, task_queue = Queue("nightly", concurrency=1), f"served-{uuid.uuid4().hex[:8]}"
    client = Client(temporal, task_queue=task_queue)
    batch = await submitted(client, "ab")
    await batch.pause(by="ann")
    async with serving(temporal, desk, queue, task_queue=task_queue):
        seen = await until(client.queues.list, lambda seen: bool(seen and seen[0].held))
        began = list(desk.begun)
        await batch.resume(by="ann")
        last = await ended(batch)

    assert [(each.queue, list(each.held)) for each in seen] == [("nightly", [batch.id])]
    assert (began, last.done) == ([], 2)


@pytest.mark.parametrize(("how", "first"), [("finish", "complete"), ("cancel", "cancelled")])
async def test_a_batch_that_is_given_up_takes_its_jobs_out_of_the_queue(
    temporal: Temporal, how: str, first: str
) -> None:
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, "abc")
        await begun(desk, 1)
        await stands(batch, running=1, queued=2, in_queue=2)
        await batch.cancel(how, by="ann")  # type: ignore[arg-type]
        await until(batch.view, lambda view: view.incomplete >= 2)
        began = len(desk.begun)
        desk.go.set()
        view = await ended(batch)
        states = sorted([row.status or "" async for row in results(batch)])
        other = await client.start("d", "go", queue="nightly")
        after = await other.outcome()
        again = await retry(batch)
        last = await until(batch.view, lambda view: view.state == "ended" and view.done == 3)

    assert (began, view.queued) == (1, 0)
    assert states == sorted(["cancelled", "cancelled", first])
    assert (after.status, again, last.incomplete) == ("complete", 3 - view.done, 0)


async def test_a_held_batch_that_is_given_up_is_forgotten_by_its_queue(temporal: Temporal) -> None:
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, "ab")
        await begun(desk, 1)
        await stands(batch, running=1, queued=1, in_queue=1)
        await batch.pause(by="ann")
        await until(client.queues["nightly"].view, lambda seen: list(seen.held) == [batch.id])
        await batch.cancel("finish", by="ann")
        desk.go.set()
        view = await ended(batch)
        queue = await until(client.queues["nightly"].view, lambda seen: not seen.held and seen.running == 0)

    assert (view.done, view.incomplete, queue.queued) == (1, 1, 0)


async def test_every_way_to_end_in_the_queue_frees_the_place_in_the_window(temporal: Temporal) -> None:
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        await started(client, "f")  # it holds the queue's only place
        await begun(desk, 1)
        batch = await submitted(client, "abc", concurrency=1)
        await stands(batch, running=0, queued=3, in_queue=1)
        await client.job(f"{batch.id}-000001").cancel(by="ann")
        await until(
            lambda: client.jobs(batch=batch.id, state="queued"),
            lambda rows: [row.job for row in rows] == [f"{batch.id}-000002"],
        )
        await temporal.get_workflow_handle(f"{batch.id}-000002").terminate()
        await until(
            lambda: client.jobs(batch=batch.id, state="queued"),
            lambda rows: [row.job for row in rows] == [f"{batch.id}-000003"],
        )
        desk.go.set()
        view = await ended(batch)
        queue = await until(client.queues["nightly"].view, lambda seen: seen.running + seen.queued == 0)

    assert (view.done, view.incomplete, view.failed) == (1, 1, 1)
    assert desk.begun == ["f", "c"]
    assert queue.waiting == 0


async def test_a_job_that_waits_for_a_person_gives_both_its_places_away(temporal: Temporal) -> None:
    desk = Desk()
    desk.go.set()
    async with one_at_a_time(temporal, desk) as client:
        batch = await submitted(client, ["payer", "payer", "a"], concurrency=1)
        view = await until(batch.view, lambda view: (view.waiting, view.done) == (2, 1))
        for number in (1, 2):
            job = client.job(f"{batch.id}-{number:06d}")
            (pending,) = await job.all_pending()
            await job.approve(pending.call, by="ann")
        last = await ended(batch)

    assert (view.state, view.in_queue, last.done) == ("waiting", 0, 3)


async def test_jobs_of_a_held_batch_that_was_terminated_begin_like_any_other(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.queues.job_queue.HELD_LOOK", timedelta(seconds=1))
    desk = Desk()
    async with one_at_a_time(temporal, desk) as client:
        held, gone = await submitted(client, "ab"), await submitted(client, "cd")
        await begun(desk, 1)
        await until(client.queues["nightly"].view, lambda seen: seen.queued == 3)
        for batch in (held, gone):
            await batch.pause(by="ann")
        await until(client.queues["nightly"].view, lambda seen: set(seen.held) == {held.id, gone.id})
        await temporal.get_workflow_handle(gone.id).terminate()
        queue = await until(client.queues["nightly"].view, lambda seen: list(seen.held) == [held.id])
        desk.go.set()
        await until(lambda: client.jobs(batch=gone.id), lambda rows: all(row.state == "ended" for row in rows))
        waiting = await until(client.queues["nightly"].view, lambda seen: seen.running == 0)
        await held.resume(by="ann")
        last = await ended(held)

    assert (queue.hold, waiting.queued > 0) == (None, True)
    assert last.done == 2
    assert sorted(desk.begun) == ["a", "b", "c", "d"]
