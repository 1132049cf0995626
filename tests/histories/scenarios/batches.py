"""Batches of jobs."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from surefoot.batches.batch import Batch, BatchView
from surefoot.batches.retrying import retry
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.job import Job
from tests.histories.scenario import ended, scenario
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder


@scenario()
async def batch(client: Client) -> Batch:
    found = await _batch(client, "answerer", "answerer", "writer")
    await found.pause(by="ann")
    await found.set_concurrency(2, by="ann")
    await found.resume(by="ann")
    await _decide(client, found)
    return found


@scenario()
async def batch_job(client: Client) -> Job:
    """One that waits for people, and tells its batch when it ends."""
    return await _decide(client, await _batch(client, "answerer", "answerer", "writer"))


@scenario()
async def batch_retried(client: Client) -> Batch:
    """A line is tried again while another one waits for people, and once more when the batch has ended."""
    found = await _batch(client, "rejected", "rejected", "writer")
    await retry(found, custom_ids=["id-1"])
    await until(found.view, lambda view: (view.state, view.failed) == ("waiting", 2))
    await _decide(client, found)
    await retry(found, custom_ids=["id-2"])
    await until(found.view, _is("ended"))
    return found


@scenario()
async def batch_stopped(client: Client) -> Batch:
    """Given up: the job that waits for people is told to stop."""
    found = await _batch(client, "answerer", "answerer", "writer")
    await found.cancel("stop", by="ann")
    await until(found.view, _is("ended"))
    return found


@scenario()
async def batch_cancelled(client: Client) -> Batch:
    """Given up: the job that waits for people is ended at once."""
    found = await _batch(client, "answerer", "answerer", "writer")
    await found.cancel("cancel", by="ann")
    await until(found.view, _is("ended"))
    return found


@scenario()
async def batch_held(client: Client) -> Batch:
    """Held when nothing is left to begin: its last job ends it all the same."""
    found = await _batch(client, "answerer", "answerer", "writer")
    await until(found.describe, lambda seen: not seen.raw_description.pending_activities)
    await found.pause(by="ann")
    await until(found.view, _is("held"))
    await _decide(client, found)
    return found


@scenario()
async def batch_terminated(client: Client) -> Batch:
    """Its lines are looked after by themselves: while it runs they stay, and when it is gone they go."""
    with patch("workflows.batches.part.UNHEARD", timedelta(seconds=0.2)):
        found = await _batch(client, "writer")
        part = client.temporal.get_workflow_handle((await found.state()).parts[0].id)
        await until(part.describe, lambda seen: seen.history_length > 12)
        await found.handle().terminate()
        await part.result()
    await client.job(f"{found.id}-000001").cancel()
    return found


@scenario()
async def batch_of_a_tenant(client: Client) -> Batch:
    """Held when the tenant's budget is spent; it goes on by itself when a new day begins, some seconds later."""
    start = datetime.now(UTC)
    turn, later = start + timedelta(seconds=5), start + timedelta(days=1)
    with (
        patch("activities.budgets.spending.LATE", timedelta(seconds=0.3)),
        patch("activities.budgets.spending.EACH", timedelta(seconds=0.1)),
        patch("activities.budgets.spending.period", lambda _, now: (start, turn) if now < turn else (now, later)),
    ):
        order = BatchOrder(agent="dear", by="ann", tenant=f"tenant-{client.task_queue}")
        found = await _submitted(client, order, lines=6, concurrency=1)
        await until(found.view, _is("held"))
        await until(found.view, _is("ended"))
    return found


async def _batch(client: Client, *agents: str) -> Batch:
    """A batch of which all that is left waits for people."""
    found = await _submitted(client, BatchOrder(by="ann"), *agents)
    await until(found.view, _is("waiting"))
    return found


async def _submitted(client: Client, order: BatchOrder, *agents: str, lines: int = 0, concurrency: int = 20) -> Batch:
    id_ = f"batch-{uuid.uuid4().hex[:8]}"
    given: list[dict[str, str]] = [{"agent": agent} for agent in agents] or [{}] * lines
    made = [BatchLine(number=n, custom_id=f"id-{n}", input="go", **each) for n, each in enumerate(given, 1)]
    queue = client.task_queue
    await submit(client.temporal, queue, made, order, id=id_, digest="", concurrency=concurrency)
    return Batch(client.temporal, id_)


def _is(state: str) -> Callable[[BatchView], bool]:
    return lambda view: view.state == state


async def _decide(client: Client, batch: Batch) -> Job:
    job = client.job(f"{batch.id}-000003")
    for pending in await job.all_pending():
        await job.deny(pending.call, digest=pending.digest, by="bob")
    await ended(job)
    await until(batch.view, _is("ended"))
    return job
