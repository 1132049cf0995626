"""Calls that wait for people: decided in each way, late and early, told to webhooks."""

import dataclasses
from functools import partial

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.cast import HOOK
from tests.histories.scenario import QUICK, ended, scenario, waits
from tests.waiting import until
from tests.webhook_receiver import receiver
from workflows.contracts import Decision, Resolution


async def four_words(job: Job) -> list[Decision]:
    """One of each kind: approve, approve edited, deny, answer."""
    view = await until(job.view, lambda seen: len(seen.pending) == 4 and all(p.preview for p in seen.pending))
    (one, two, three, four) = ((pending.call, pending.digest) for pending in view.pending)
    return [
        Decision(call=one[0], digest=one[1], choice="approve", by="ann"),
        Decision(call=two[0], digest=two[1], choice="approve", arguments={"key": "B"}, by="ann"),
        Decision(call=three[0], digest=three[1], choice="deny", text="not that one", by="bob"),
        Decision(call=four[0], digest=four[1], choice="answer", text="it is saved already", by="bob"),
    ]


@scenario()
async def gate_by_update(client: Client) -> Job:
    job = await client.start("writer", "save all")
    for decision in await four_words(job):
        await job.decide(decision)
    return await ended(job)


@scenario()
async def gate_by_signal(client: Client) -> Job:
    job = await client.start("writer", "save all")
    handle = client.temporal.get_workflow_handle(job.id)
    for decision in reversed(await four_words(job)):
        await handle.signal("decide", decision)
    return await ended(job)


@scenario()
async def gate_decided_early(client: Client) -> Job:
    other = await client.start("writer", "save all")
    words = await four_words(other)
    await other.cancel()
    job = await client.start("thinker", "save all")
    handle = client.temporal.get_workflow_handle(job.id)
    for decision in words:
        await handle.signal("decide", decision)
    return await ended(job)


@scenario()
async def unknown_outcome(client: Client) -> Job:
    job = await client.start("sender", "send all")
    happened = (await until(job.view, waits)).pending[0]
    await job.resolve(Resolution(call=happened.call, choice="happened", result="sent", by="ann"))
    again = (await until(job.view, lambda seen: waits(seen) and seen.pending[0].call != happened.call)).pending[0]
    await job.resolve(Resolution(call=again.call, choice="not_happened", by="ann"))
    await until(job.view, lambda seen: waits(seen) and seen.tool_calls == 3)
    await job.resolve(Resolution(call=again.call, choice="give_up", by="ann"))
    return await ended(job)


@scenario(dataclasses.replace(QUICK, history_events=40))
async def continue_as_new_while_waiting(client: Client) -> Job:
    job = await client.start("writer", "save all")
    words = await four_words(job)
    for number in range(30):
        await job.steer(f"message {number}", id=f"m{number}")
    for decision in words:
        await job.decide(decision)
    return await ended(job)


@scenario()
async def unknown_outcome_by_signal(client: Client) -> Job:
    job = await client.start("sender", "send all")
    handle = client.temporal.get_workflow_handle(job.id)
    for call in ("c1-1", "c1-2", "c1-3"):
        await until(partial(_asked, job), [call].__eq__)
        await handle.signal("resolve", Resolution(call=call, choice="happened", result="sent", by="ann"))
    return await ended(job)


async def _asked(job: Job) -> list[str]:
    """The calls that wait for people."""
    return [each.call for each in (await job.view()).pending]


@scenario()
async def notices(client: Client) -> Job:
    """Four calls ask at once, and the end: two deliveries, the first of which ends while the job goes on."""
    async with receiver() as endpoint:
        HOOK.url = endpoint.url
        job = await client.start("teller", "save all")
        words = await four_words(job)
        await endpoint.got(4)
        await until(lambda: _delivered(client, job), lambda events: events > 0)
        for decision in words:
            await job.decide(decision)
        await ended(job)
        await endpoint.got(5)
    return job


async def _delivered(client: Client, job: Job) -> int:
    """How many deliveries of the job have ended, as its history says."""
    history = await client.temporal.get_workflow_handle(job.id).fetch_history()
    return sum(event.HasField("child_workflow_execution_completed_event_attributes") for event in history.events)


@scenario()
async def gate_in_time(client: Client) -> Job:
    """Nobody answers: people are reminded, one call expires, and for the other one others are asked."""
    job = await client.start("hasty", "save both")
    view = await until(job.view, lambda seen: [each.escalated for each in seen.pending] == [True])
    await job.approve(view.pending[0].call, digest=view.pending[0].digest, by="ann", roles=["board"])
    return await ended(job)
