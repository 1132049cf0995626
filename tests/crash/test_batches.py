"""Batches whose worker is killed, deployed ten times, or whose server is killed: nothing lost, nothing twice."""

import pytest

from surefoot.batches.batch import Batch, BatchView
from surefoot.batches.results import results
from surefoot.batches.submitting import submit
from surefoot.client import Client
from tests.crash.processes import Workers
from tests.crash.servers import Server
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder

pytestmark = pytest.mark.crash
DEPLOYS = 10


async def submitted(
    client: Client, count: int, *, agent: str = "reader", concurrency: int = 4, queue: str | None = None
) -> Batch:
    lines = [BatchLine(number=n, custom_id=f"id-{n}", input="go") for n in range(1, count + 1)]
    batch = f"{client.task_queue}-batch"
    order = BatchOrder(agent=agent, queue=queue)
    await submit(client.temporal, client.task_queue, lines, order, id=batch, digest="", concurrency=concurrency)
    return Batch(client.temporal, batch)


async def ended(batch: Batch) -> BatchView:
    return await until(batch.view, lambda view: view.state == "ended", seconds=120)


async def all_done_once(client: Client, batch: Batch, count: int) -> None:
    """Every line has one job, which is complete, and none is left."""
    rows = [row async for row in results(batch, whole=True)]
    jobs = await client.jobs(batch=batch.id, limit=10 * count)

    assert [(row.line, row.status, row.attempt) for row in rows] == [(n, "complete", 1) for n in range(1, count + 1)]
    assert sorted(row.job for row in jobs) == [f"{batch.id}-{n:06d}" for n in range(1, count + 1)]
    assert {row.state for row in jobs} == {"ended"}


async def test_a_worker_killed_with_the_only_place_in_its_hands_loses_no_line(workers: Workers, client: Client) -> None:
    workers.stop("begin-a", 2)
    worker = await workers.start()
    batch = await submitted(client, 5, concurrency=1)
    await workers.reached("begin-a", 2)
    await worker.kill()
    workers.let_go("begin-a")
    await workers.start()
    view = await ended(batch)

    assert (view.done, view.queued, view.spent.jobs) == (5, 0, 5)
    assert workers.effects() == ["read a"] * 5
    await all_done_once(client, batch, 5)


async def test_a_worker_killed_with_the_only_place_of_a_queue_blocks_nobody_there(
    workers: Workers, client: Client
) -> None:
    workers.stop("begin-a", 2)
    worker = await workers.start()
    batch = await submitted(client, 5, queue="narrow")
    await workers.reached("begin-a", 2)
    await until(batch.view, lambda view: (view.done, view.running, view.in_queue) == (1, 1, 3))
    await worker.kill()
    workers.let_go("begin-a")
    await workers.start()
    view = await ended(batch)
    queue = await until(client.queues["narrow"].view, lambda seen: seen.running == 0)

    assert (view.done, view.queued, queue.queued) == (5, 0, 0)
    assert workers.effects() == ["read a"] * 5
    await all_done_once(client, batch, 5)


async def test_ten_deploys_give_up_no_line_and_begin_none_twice(workers: Workers, client: Client) -> None:
    worker = await workers.start()
    batch = await submitted(client, 60, concurrency=2)
    done = 0
    for _ in range(DEPLOYS):
        view = await until(batch.view, lambda view, before=done: view.done > before)  # type: ignore[misc]
        done = view.done
        await worker.terminate()
        worker = await workers.start()
    view = await ended(batch)

    assert (view.done, view.failed, view.incomplete, view.queued) == (60, 0, 0, 0)
    await all_done_once(client, batch, 60)


async def test_a_server_killed_while_a_batch_runs_goes_on_with_it(server: Server, own_workers: Workers) -> None:
    client = Client(await server.connect(), task_queue=own_workers.queue)
    await own_workers.start(SUREFOOT_HEARTBEAT_SECONDS="20")
    batch = await submitted(client, 40)
    await until(batch.view, lambda view: view.done >= 5)
    await server.kill()
    await server.start()
    view = await ended(Batch((await server.connect()), batch.id))

    assert (view.done, view.queued) == (40, 0)
    await all_done_once(Client(await server.connect(), task_queue=own_workers.queue), batch, 40)


async def test_a_server_killed_while_all_jobs_of_a_batch_wait_for_people_keeps_what_they_decide(
    server: Server, own_workers: Workers
) -> None:
    before = Client(await server.connect(), task_queue=own_workers.queue)
    await own_workers.start(SUREFOOT_HEARTBEAT_SECONDS="20")
    batch = await submitted(before, 6, agent="refunder", concurrency=2)
    await until(batch.view, lambda view: view.waiting == 6)
    await until(batch.describe, lambda seen: not seen.raw_description.pending_activities)
    await decided(before, batch, 1, 2)
    await server.kill()
    await server.start()
    client = Client(await server.connect(), task_queue=own_workers.queue)
    batch = client.batches[batch.id]
    await decided(client, batch, 3, 4, 5, 6)
    view = await ended(batch)

    assert (view.done, view.queued, view.forgotten, view.spent.jobs) == (6, 0, 0, 6)
    assert own_workers.effects() == ["refund 1"] * 6
    assert len(set(own_workers.keys())) == 6
    await all_done_once(client, batch, 6)


async def decided(client: Client, batch: Batch, *lines: int) -> None:
    """Approve what the jobs of these lines ask for."""
    for line in lines:
        job = client.job(f"{batch.id}-{line:06d}")
        (pending,) = await job.all_pending()
        await job.approve(pending.call, by="ann")


async def test_a_word_to_a_batch_whose_worker_was_killed_is_heard_and_ends_nothing(
    workers: Workers, client: Client
) -> None:
    workers.stop("begin-a", 2)
    worker = await workers.start()
    batch = await submitted(client, 4, concurrency=1)
    await workers.reached("begin-a", 2)
    await worker.kill()
    workers.let_go("begin-a")
    await batch.set_concurrency(2, by="ann")
    await workers.start()
    view = await ended(batch)

    assert (view.done, view.queued, view.concurrency) == (4, 0, 2)
    await all_done_once(client, batch, 4)
