"""Jobs in named queues."""

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import ended, scenario
from tests.waiting import until


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
