"""Jobs that go their way by themselves: to their ends, to their limits, through several runs."""

import dataclasses

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import QUICK, ended, scenario, waits
from tests.waiting import until
from workflows.contracts import Limits


@scenario()
async def complete(client: Client) -> Job:
    return await ended(await client.start("reader", "look at all"))


@scenario()
async def odd_turns(client: Client) -> Job:
    return await ended(await client.start("stumbler", "try"))


@scenario()
async def model_retried(client: Client) -> Job:
    return await ended(await client.start("unlucky", "try"))


@scenario()
async def output_asked_again(client: Client) -> Job:
    return await ended(await client.start("vague", "how much?"))


@scenario()
async def model_failure(client: Client) -> Job:
    return await ended(await client.start("rejected", "try"))


@scenario()
async def no_such_agent(client: Client) -> Job:
    return await ended(await client.start("nobody", "go"))


@scenario()
async def of_a_tenant(client: Client) -> Job:
    """Whoever it works for is charged with what it spent."""
    return await ended(await client.start("dear", "go", tenant="acme"))


@scenario()
async def mcp(client: Client) -> Job:
    job = await client.start("caller", "add up")
    view = await until(job.view, waits)
    await job.approve(view.pending[0].call, digest=view.pending[0].digest, by="ann")
    return await ended(job)


@scenario()
async def limit_of_rounds(client: Client) -> Job:
    return await ended(await client.start("plodder", "go", limits=Limits(rounds=2)))


@scenario()
async def limit_of_tool_calls(client: Client) -> Job:
    return await ended(await client.start("worker", "go", limits=Limits(tool_calls=2)))


@scenario()
async def limit_of_tokens(client: Client) -> Job:
    return await ended(await client.start("spender", "go", limits=Limits(tokens=100)))


@scenario()
async def limit_of_cost(client: Client) -> Job:
    return await ended(await client.start("spender", "go", limits=Limits(cost_usd=0.5)))


@scenario()
async def limit_of_time(client: Client) -> Job:
    return await ended(await client.start("reader", "go", limits=Limits(seconds=0.1)))


@scenario()
async def no_progress(client: Client) -> Job:
    return await ended(await client.start("repeater", "go"))


@scenario(dataclasses.replace(QUICK, history_events=90))
async def compaction(client: Client) -> Job:
    """Old results are cut short and what was said is summed up, in a job of two runs; then a reply to it."""
    job = await ended(await client.start("novelist", "read it all"))
    await client.reply(job.id, "and how does it end?")
    return await ended(job)


@scenario(dataclasses.replace(QUICK, history_events=60))
async def continue_as_new(client: Client) -> Job:
    return await ended(await client.start("plodder", "go", limits=Limits(rounds=12)))
