"""Jobs that other agents do for calls."""

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import ended, scenario, waits
from tests.histories.scenarios.gate import four_words
from tests.waiting import until

ENDED_ONE = {"c1-1": "complete", "c1-2": None}


@scenario()
async def sub_agents(client: Client) -> Job:
    job, asking = await _asking_child(client)
    for decision in await four_words(asking):
        await asking.decide(decision)
    return await ended(job)


@scenario()
async def sub_agents_stopped(client: Client) -> Job:
    job, _ = await _asking_child(client)
    await job.stop(by="ann")
    return await ended(job)


@scenario()
async def sub_agents_cancelled(client: Client) -> Job:
    job, _ = await _asking_child(client)
    await job.cancel()
    await ended(job)
    await client.reply(job.id, "go on")
    return await ended(job)


async def _asking_child(client: Client) -> tuple[Job, Job]:
    """A job with two children, and the one of them that waits for decisions when the other has ended."""
    job = await client.start("chief", "go")
    # The server is asked until both are there: a worker without a cache has no time for them while it is queried.
    await until(client.inbox, lambda items: any(item.parent == job.id for item in items))
    await client.job(f"{job.id}.c1-1").outcome()
    await until(job.view, lambda seen: {each.call: each.status for each in seen.children} == ENDED_ONE)
    asking = client.job(f"{job.id}.c1-2")
    await until(asking.view, waits)
    return job, asking
