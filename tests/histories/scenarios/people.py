"""What people do to jobs: reply, steer, pause, stop, cancel."""

import dataclasses

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import QUICK, ended, scenario, waits
from tests.waiting import until
from workflows.contracts import Limits


@scenario()
async def reply(client: Client) -> Job:
    job = await ended(await client.start("plodder", "go", limits=Limits(rounds=1)))
    await client.reply(job.id, "yes, go on", limits=Limits(rounds=2))
    return await ended(job)


@scenario(dataclasses.replace(QUICK, adopt_seconds=0.0))
async def reply_much_later(client: Client) -> Job:
    """So long after the job's end that the server is about to forget it: all that was said is recorded anew."""
    job = await ended(await client.start("answerer", "go"))
    await client.reply(job.id, "and on")
    return await ended(job)


@scenario()
async def steer_and_pause(client: Client) -> Job:
    job = await client.start("answerer", "go")
    await job.steer("one more thing", by="ann", id="s1")
    await job.pause()
    await until(job.view, lambda seen: seen.state == "paused" and seen.entries > 1)
    await job.steer("and another", id="s2")
    await job.resume()
    return await ended(job)


@scenario()
async def stop(client: Client) -> Job:
    job = await client.start("writer", "save all")
    await until(job.view, waits)
    await job.stop(by="ann")
    return await ended(job)


@scenario()
async def cancel_in_flight(client: Client) -> Job:
    job = await client.start("slow", "go")
    await until(job.view, lambda seen: seen.entries == 2)
    await job.cancel()
    await ended(job)
    await client.reply(job.id, "go on")
    return await ended(job)


@scenario()
async def fork(client: Client) -> Job:
    """A new job that goes on from the first round of another one."""
    other = await ended(await client.start("plodder", "go", limits=Limits(rounds=2)))
    return await ended(await client.fork(other.id, 1, "go on from here", limits=Limits(rounds=1)))
