"""Jobs that schedules start in a named queue: each waits for its place there, and runs as far as overlap goes."""

from datetime import UTC, datetime, timedelta

from temporalio.client import Client as Temporal

from activities.queues.queue import Queue
from surefoot.schedules import Schedule, ScheduleView, Terms
from tests.queues.test_named_queues import Desk, begun, serving, started, state_of
from tests.waiting import until

DAILY = ["0 6 * * *"]


async def fired(schedule: Schedule, count: int) -> ScheduleView:
    """After so many firings, in another second than that of the last one: a job's id is made of it."""
    return await until(
        schedule.view,
        lambda view: view.fired == count and datetime.now(UTC) > view.recent[0].due_at + timedelta(seconds=1),
    )


async def test_a_fired_job_waits_for_its_place_and_the_next_firing_meets_it(temporal: Temporal) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "a")
        await begun(desk, 1)
        schedule = await client.schedules.create("queued-skip", "b", "go", Terms(cron=DAILY), queue="nightly")
        await schedule.trigger()
        view = await fired(schedule, 1)
        job = client.job(view.recent[0].job)
        waits = await until(lambda: state_of(job), lambda state: state == "queued")
        await schedule.trigger()
        skipped = await until(schedule.view, lambda view: view.skipped == 1)
        desk.go.set()
        outcome, row = await job.outcome(), await job.view()

    assert (view.queue, waits, row.queue) == ("nightly", "queued", "nightly")
    assert (skipped.fired, list(skipped.running)) == (1, [job.id])
    assert outcome.status == "complete"
    assert desk.begun == ["a", "b"]


async def test_a_firing_that_cancels_the_one_before_takes_it_out_of_the_queue(temporal: Temporal) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "a")
        await begun(desk, 1)
        terms = Terms(cron=DAILY, overlap="cancel_other")
        schedule = await client.schedules.create("queued-cancel", "b", "go", terms, queue="nightly")
        await schedule.trigger()
        first = client.job((await fired(schedule, 1)).recent[0].job)
        await until(lambda: state_of(first), lambda state: state == "queued")
        await schedule.trigger()
        cancelled = await first.outcome()
        second = client.job((await fired(schedule, 2)).recent[0].job)
        queue = await until(client.queues["nightly"].view, lambda view: view.queued == 1)
        desk.go.set()
        ended = await second.outcome()

    assert (cancelled.status, ended.status) == ("cancelled", "complete")
    assert (queue.running, second.id == first.id) == (1, False)
    assert desk.begun == ["a", "b"]
