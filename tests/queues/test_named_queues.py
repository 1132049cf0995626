"""Named queues on a real server: jobs begin in their order, so many at a time, and every way to end frees a place."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.apps import App
from activities.providers.script import Script
from activities.queues.queue import Queue
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.errors import NoSuchQueue, WrongValue
from surefoot.job import Job
from tests.conftest import QUICK
from tests.waiting import Flag, until
from worker import hosting

DONE = {"text": "done"}
BEGIN = EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED


class Desk:
    """An agent whose jobs note that they began, and end when `go` is set."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = Flag()

        @tool(read_only=True)
        async def work(what: str) -> str:
            self.begun.append(what)
            await self.go.wait()
            return "worked"

        @tool
        def pay() -> str:
            return "paid"

        self.agents = [
            Agent(what, Script([{"calls": [{"tool": "work", "arguments": {"what": what}}]}, DONE]), tools=[work])
            for what in "abcdef"
        ]
        self.agents.append(Agent("payer", Script([{"calls": [{"tool": "pay"}]}, DONE]), tools=[pay]))


@asynccontextmanager
async def serving(
    temporal: Temporal, desk: Desk, *queues: Queue, task_queue: str | None = None
) -> AsyncIterator[Client]:
    served = task_queue or f"served-{uuid.uuid4().hex[:8]}"
    async with hosting(temporal, App(desk.agents, queues=queues), task_queue=served, settings=QUICK):
        yield Client(temporal, task_queue=served)


async def started(client: Client, agents: str) -> list[Job]:
    """Jobs of these agents, one behind the other in the queue."""
    jobs = []
    for agent in agents:
        jobs.append(await client.start(agent, "go", queue="nightly"))
        count = len(jobs)

        async def entered(count: int = count) -> bool:
            state = await client.temporal.get_workflow_handle(f"queue/{client.task_queue}/nightly").query("state")
            return len(state["waiting"]) + len(state["places"]) >= count

        await until(lambda: client.queues.list(), bool)
        await until(entered)
    return jobs


async def state_of(job: Job) -> str:
    return (await job.view()).state


async def begun(desk: Desk, count: int) -> list[str]:
    async def seen() -> list[str]:
        return list(desk.begun)

    return await until(seen, lambda each: len(each) == count)


async def test_jobs_begin_in_their_order_when_there_is_a_place_and_are_shown_as_queued_before(
    temporal: Temporal,
) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=2)) as client:
        jobs = await started(client, "abcd")
        first = sorted(await begun(desk, 2))
        states = [await state_of(job) for job in jobs]
        view = await until(client.queues["nightly"].view, lambda view: (view.running, view.queued) == (2, 2))
        rows = await client.jobs(state="queued", agent="d")
        desk.go.set()
        ends = [(await job.outcome()).status for job in jobs]
        after = await until(client.queues["nightly"].view, lambda view: view.running == 0)

    assert first == ["a", "b"]
    assert states == ["running", "running", "queued", "queued"]
    assert (view.concurrency, view.rate, view.hold) == (2, None, None)
    assert jobs[3].id in [row.job for row in rows]
    assert ends == ["complete"] * 4
    assert sorted(desk.begun[2:]) == ["c", "d"]
    assert after.queued == 0


async def test_every_way_to_end_frees_the_only_place(temporal: Temporal) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        a, b, c, d, e = await started(client, "abcde")
        await begun(desk, 1)
        await c.cancel(by="ann")  # it waits
        assert (await c.outcome()).status == "cancelled"
        await a.cancel(by="ann")  # it works
        await begun(desk, 2)
        await temporal.get_workflow_handle(b.id).terminate()  # it can tell nobody
        await begun(desk, 3)
        await temporal.get_workflow_handle(e.id).terminate()  # it waits, and can tell nobody
        desk.go.set()
        last = await d.outcome()
        empty = await until(client.queues["nightly"].view, lambda view: view.running + view.queued == 0)

    assert last.status == "complete"
    assert desk.begun == ["a", "b", "d"]
    assert empty.waiting == 0


async def test_a_full_queue_turns_jobs_away_and_takes_them_again_when_some_have_left(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.queues.job_queue.WAITING_BYTES", 25)  # an id has ten or so
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "abc")  # one works, two wait
        outcomes = [await (await client.start("d", "go", queue="nightly", id="d-too-many")).outcome()]
        desk.go.set()
        await until(client.queues["nightly"].view, lambda view: view.queued == 0)
        outcomes.append(await (await client.start("e", "go", queue="nightly", id="e-in-time")).outcome())

    assert [outcome.status for outcome in outcomes] == ["failed", "complete"]
    assert outcomes[0].error == "queue nightly is full: 2 jobs wait in it; start this one later"


async def test_a_job_that_waits_for_a_person_gives_its_place_to_the_next(temporal: Temporal) -> None:
    desk = Desk()
    desk.go.set()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        payer = await client.start("payer", "go", queue="nightly")
        await until(lambda: state_of(payer), lambda state: state == "waiting")
        other = await client.start("a", "go", queue="nightly")
        ended = await other.outcome()
        (pending,) = await payer.all_pending()
        await payer.approve(pending.call, by="ann")
        paid = await payer.outcome()

    assert (ended.status, paid.status) == ("complete", "complete")


async def test_a_queue_is_changed_while_it_runs(temporal: Temporal) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        queue = client.queues["nightly"]
        jobs = await started(client, "ab")
        await begun(desk, 1)
        await queue.set(concurrency=2, by="ann")
        await begun(desk, 2)
        await queue.pause(by="ann", reason="prices change")
        desk.go.set()
        held = await client.start("c", "go", queue="nightly")
        for job in jobs:
            await job.outcome()
        view = await until(queue.view, lambda view: (view.running, view.queued) == (0, 1))
        waits = await state_of(held)
        await queue.resume(by="ann")
        status = (await held.outcome()).status

    assert (view.hold, view.concurrency, waits, status) == ("prices change", 2, "queued", "complete")


async def test_what_a_person_set_is_kept_until_the_app_file_says_something_else(temporal: Temporal) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "abc")
        await client.queues["nightly"].set(concurrency=2, rate=6000, by="ann")
        await begun(desk, 2)
        view = await until(client.queues["nightly"].view, lambda view: view.queued == 1)
    async with serving(temporal, desk, Queue("nightly", concurrency=3), task_queue=client.task_queue) as client:
        after = await until(client.queues["nightly"].view, lambda view: view.concurrency == 3)
        desk.go.set()
        await until(client.queues["nightly"].view, lambda view: view.running + view.queued == 0)

    assert (view.concurrency, view.rate) == (2, 6000)
    assert after.rate is None
    assert set(desk.begun) == {"a", "b", "c"}


async def test_a_rate_spreads_the_beginnings(temporal: Temporal) -> None:
    desk = Desk()
    desk.go.set()
    async with serving(temporal, desk, Queue("nightly", concurrency=9, rate=60)) as client:
        jobs = [await client.start(agent, "go", queue="nightly") for agent in "abc"]
        for job in jobs:
            await job.outcome()
        history = await temporal.get_workflow_handle(f"queue/{client.task_queue}/nightly").fetch_history()

    told = [each for each in history.events if each.event_type == BEGIN]
    names = [
        each.signal_external_workflow_execution_initiated_event_attributes.workflow_execution.workflow_id
        for each in told
    ]
    assert sorted(names) == sorted(job.id for job in jobs)
    # Each is counted from when the queue thought of the one before, which may be a moment before it was told.
    assert told[2].event_time.ToMilliseconds() - told[0].event_time.ToMilliseconds() >= 1000


async def test_a_queue_that_the_app_does_not_have_fails_the_job_and_says_what_to_do(
    temporal: Temporal,
) -> None:
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        job = await client.start("a", "go", queue="daily")
        outcome = await job.outcome()
        with pytest.raises(NoSuchQueue, match="no job was started in a queue 'daily' yet"):
            await client.queues["daily"].view()
        with pytest.raises(NoSuchQueue):
            await client.queues["daily"].pause(by="ann")
        with pytest.raises(WrongValue, match="no queue can be called"):
            await client.start("a", "go", queue="by night")

    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "there is no queue 'daily'; the app has: nightly" in outcome.error
    assert desk.begun == []


async def test_jobs_that_wait_in_a_queue_whose_workflow_is_ended_enter_it_again(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.queues.desk.AGAIN", 3.0)
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        jobs = await started(client, "ab")
        await begun(desk, 1)
        await temporal.get_workflow_handle(f"queue/{client.task_queue}/nightly").terminate()
        with pytest.raises(NoSuchQueue, match="somebody ended its workflow on the server; it is there again"):
            await client.queues["nightly"].pause(by="ann")
        view = await client.queues["nightly"].view()
        desk.go.set()
        ends = [(await job.outcome()).status for job in jobs]

    assert view.hold is not None
    assert view.hold.startswith("somebody ended its workflow")
    assert ends == ["complete", "complete"]
    assert desk.begun == ["a", "b"]


async def test_a_job_that_looks_for_its_queue_again_keeps_its_turn_and_begins_once(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.queues.desk.AGAIN", 0.2)
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        jobs = await started(client, "abc")
        await until(lambda: entries(client), lambda count: count > 5)
        desk.go.set()
        ends = [(await job.outcome()).status for job in jobs]

    assert ends == ["complete"] * 3
    assert desk.begun == ["a", "b", "c"]


async def test_a_job_whose_queue_left_the_app_file_waits_while_its_workflow_is_there_and_fails_when_it_is_not(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.queues.desk.AGAIN", 1.0)
    monkeypatch.setattr("workflows.queues.queueing.RAREST", timedelta(seconds=1))
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "ab")
        await begun(desk, 1)
        before = await entries(client)
    async with serving(temporal, desk, task_queue=client.task_queue):
        second = client.job((await client.jobs(agent="b", state="queued"))[0].job)
        handle = temporal.get_workflow_handle(second.id)

        async def looks() -> int:
            names = [each.event_type async for each in handle.fetch_history_events()]
            return names.count(EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)

        await until(looks, lambda count: count > 2)
        waits = await state_of(second)
        after = await entries(client)
        await temporal.get_workflow_handle(f"queue/{client.task_queue}/nightly").terminate()
        end = await second.outcome()
        desk.go.set()

    assert (waits, after) == ("queued", before)
    assert end.status == "failed"
    assert "there is no queue 'nightly'" in (end.error or "")


async def test_of_too_many_jobs_that_come_at_once_each_is_told_that_the_queue_is_full(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.queues.telling.AT_ONCE", 2)
    monkeypatch.setattr("workflows.queues.job_queue.WAITING_BYTES", 60)
    desk = Desk()
    async with serving(temporal, desk, Queue("nightly", concurrency=1)) as client:
        await started(client, "a")
        await begun(desk, 1)
        ids = [f"{n}-{uuid.uuid4().hex}"[:30] for n in range(7)]
        jobs = [await client.start("b", "go", queue="nightly", id=id) for id in ids]

        async def over() -> int:
            return [(await job.view()).state for job in jobs].count("ended")

        await until(over, lambda count: count == 5)  # whichever came too late
        desk.go.set()
        outcomes = [await job.outcome() for job in jobs]
        refused = [each for each in outcomes if each.status != "complete"]

    assert sorted(each.status for each in outcomes) == ["complete"] * 2 + ["failed"] * 5
    assert all("queue nightly is full" in (each.error or "") for each in refused)


async def entries(client: Client) -> int:
    """How often jobs have entered the queue, as its history tells."""
    events = client.temporal.get_workflow_handle(f"queue/{client.task_queue}/nightly").fetch_history_events()
    sent = [each.workflow_execution_signaled_event_attributes.signal_name async for each in events]
    return sent.count("enter")
