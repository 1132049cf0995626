"""Jobs in named queues."""

from surefoot.batches import Batch
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import ended, scenario
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder


@scenario()
async def queued(client: Client) -> Job:
    """One that waits in its queue until the job before it has ended."""
    before = await client.start("reader", "wait for me", queue="nightly")
    job = await client.start("reader", "your turn", queue="nightly")
    await ended(before)
    return await ended(job)


@scenario()
async def queue_changed(client: Client) -> Job:
    """A queue that is held, gets other numbers and goes on, while a job that waits in it is cancelled."""
    await ended(await client.start("answerer", "you first", queue="weekly"))
    queue = client.queues["weekly"]
    await queue.pause(by="ann")
    gone, job, last = [await client.start("answerer", f"number {n}", queue="weekly") for n in range(3)]
    await until(queue.view, lambda seen: seen.queued == 3)
    await gone.cancel()
    await ended(gone)
    await queue.set(by="ann", concurrency=2, rate=600)
    await queue.resume(by="ann")
    await ended(last)
    return await ended(job)


@scenario()
async def queue_of_a_batch(client: Client) -> Batch:
    """A batch in a queue is held, goes on, is held and given up, while its jobs wait there."""
    await ended(await client.start("answerer", "you first", queue="weekly"))
    queue = client.queues["weekly"]
    await queue.pause(by="ann")
    id = f"queue-of-a-batch-{client.task_queue}"
    lines = [BatchLine(number=n, custom_id=f"id-{n}", input=f"number {n}") for n in range(1, 4)]
    order = BatchOrder(agent="answerer", queue="weekly")
    await submit(client.temporal, client.task_queue, lines, order, id=id, digest="x")
    found = client.batches[id]
    await until(found.view, lambda seen: seen.in_queue == 3)
    for _ in range(2):
        await found.pause(by="ann")
        await until(queue.view, lambda seen: list(seen.held) == [id])
        await found.resume(by="ann")
        await until(queue.view, lambda seen: not seen.held)
    await found.pause(by="ann")
    await until(queue.view, lambda seen: list(seen.held) == [id])
    await found.cancel("finish", by="ann")
    await until(found.view, lambda seen: seen.state == "ended")
    return found
