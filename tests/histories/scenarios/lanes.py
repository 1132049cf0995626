"""Jobs whose models are asked by way of provider batches."""

import dataclasses
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio.client import WorkflowHistory

from stand_ins.books import Batch as ProviderBatch
from stand_ins.books import Body
from surefoot.batches.batch import Batch
from surefoot.batches.lanes import hold_lane, resume_lane
from surefoot.batches.looking import look_now
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.errors import NoSuchJob
from surefoot.job import Job
from tests.batch_apis import StandIn, responses_answer, stand_in
from tests.histories.scenario import QUICK, ended, scenario
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.lanes.contracts import LANE_WORKFLOW, LaneState, LaneTerms

TERMS = LaneTerms(quiet=0.3, longest_look=1.0, poll=0.1, longest_poll=0.5)
LANED = dataclasses.replace(QUICK, lane_terms=TERMS)


@scenario(LANED)
async def half_price(client: Client) -> Job:
    """Two rounds, each in a provider batch of its own."""
    async with asked_in_batches() as server:
        server.books.answer = looking_up
        return await ended(await begun(client, "half-price"))


@scenario(LANED)
async def half_price_too_late(client: Client) -> Job:
    """A provider batch that does not end before the job's time does."""
    async with asked_in_batches() as server:
        server.books.held = True
        return await ended(await begun(client, "half-price-late", within=3.0))


@scenario(LANED)
async def half_price_given_up(client: Client) -> Job:
    """As before; its batch, which nothing else wakes, hears of the job's end."""
    async with asked_in_batches() as server:
        server.books.held = True
        job = await ended(await begun(client, "half-price-given-up", within=3.0))
        await until(Batch(client.temporal, job.id.removesuffix("-000001")).view, lambda view: view.state == "ended")
    return job


@scenario(LANED)
async def half_price_cancelled(client: Client) -> Job:
    """A job that is cancelled while it waits for a provider batch."""
    async with asked_in_batches() as server:
        server.books.held = True
        job = await begun(client, "half-price-cancelled")
        await until(job.view, lambda seen: seen.state == "batched")
        await job.cancel()
        return await ended(job)


@scenario(dataclasses.replace(LANED, lane_terms=TERMS.model_copy(update={"pause": 0.3})))
async def half_price_without_credit(client: Client) -> Job:
    """A provider that takes no batch, since the credit is used up: the lane waits, and then sends it once more."""
    async with asked_in_batches() as server:
        server.books.faults["billing_limit"] = 1
        return await ended(await begun(client, "half-price-poor"))


@scenario(dataclasses.replace(LANED, lane_terms=TERMS.model_copy(update={"quiet": 1.0})))
async def half_price_held(client: Client) -> Job:
    """A lane that somebody holds, and lets go on."""
    async with asked_in_batches():
        job = await begun(client, "half-price-held")
        await until(job.view, lambda seen: seen.state == "batched")
        lane = await until(lambda: _lane(client), lambda found: found is not None)
        assert lane is not None
        await hold_lane(client.temporal, lane, by="ann")
        await resume_lane(client.temporal, lane, by="ann")
        return await ended(job)


@scenario(dataclasses.replace(LANED, lane_terms=TERMS.model_copy(update={"poll": 1.0, "longest_poll": 60.0})))
async def half_price_told(client: Client) -> Job:
    """A provider batch that is said to have ended: too early at first, and then it has."""
    async with asked_in_batches(f"batch-{client.task_queue}") as server:
        server.books.held = True
        job = await begun(client, "half-price-told")
        (batch,) = await until(lambda: _batches(server))
        await until(lambda: look_now(client.temporal, batch.id))
        await until(lambda: _looks(batch), lambda looks: looks == 2)
        server.books.held = False
        await look_now(client.temporal, batch.id)
        return await ended(job)


async def _batches(server: StandIn) -> list[ProviderBatch]:
    return server.books.batches


async def _looks(batch: ProviderBatch) -> int:
    return batch.looks


@scenario(dataclasses.replace(LANED, lane_terms=TERMS.model_copy(update={"requests": 1, "most": 1, "room": 0.5})))
async def half_price_outside(client: Client) -> Job:
    """A job that finds its lane full, and comes in when there is room."""
    async with asked_in_batches() as server:
        server.books.held = True
        first = await begun(client, "half-price-inside")
        lane = await until(lambda: _lane(client), lambda found: found is not None)
        assert lane is not None
        handle = client.temporal.get_workflow_handle(lane)
        await until(lambda: handle.query("state", result_type=LaneState), lambda state: state.full)
        job = await begun(client, "half-price-outside")
        await until(lambda: client.temporal.get_workflow_handle(job.id).fetch_history(), stands_outside)
        server.books.held = False
        await ended(first)
        return await ended(job)


def stands_outside(history: WorkflowHistory) -> bool:
    return any(event.HasField("timer_started_event_attributes") for event in history.events)


async def _lane(client: Client) -> str | None:
    """The one of this scenario, once the server lists it."""
    query = f"WorkflowType = '{LANE_WORKFLOW}' AND TaskQueue = '{client.task_queue}'"
    return next(iter([found.id async for found in client.temporal.list_workflows(query)]), None)


@asynccontextmanager
async def asked_in_batches(name: str = "batch") -> AsyncIterator[StandIn]:
    """The stand-in of a batch API, which the worker is to ask from now on."""
    async with stand_in("openai", name=name) as server:
        before = {name: os.environ.get(name) for name in server.settings}
        os.environ.update(server.settings)
        try:
            yield server
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def looking_up(body: Body) -> Body:
    answer = responses_answer(body)
    if "function_call_output" in str(body):
        return answer
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"key": "a"}'}
    return {**answer, "output": [call]}


async def begun(client: Client, id: str, **order: Any) -> Job:
    """The only job of a batch in the batch lane."""
    id = f"{id}-{client.task_queue}"
    chosen = BatchOrder(agent="laned", lane="batch", **order)
    lines = [BatchLine(number=1, custom_id="one", input="look it up")]
    await submit(client.temporal, client.task_queue, lines, chosen, id=id, digest="x")
    job = client.job(f"{id}-000001")
    await until(lambda: started(job))
    return job


async def started(job: Job) -> bool:
    try:
        await job.view()
    except NoSuchJob:
        return False
    return True
