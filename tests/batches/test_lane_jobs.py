"""Jobs that wait for a provider batch: what people do to them meanwhile, and when they wait no longer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.lanes.requests import LaneRequests
from activities.providers.script import Script
from activities.tools.tool import tool
from surefoot.job import Job
from tests.batch_apis import StandIn, responses_answer, stand_in
from tests.batches.lanes import SETTINGS, TERMS, Run, ended, running, settled
from tests.conftest import Host
from tests.waiting import Flag, until
from workflows.contracts import JobView, Limits
from workflows.lanes.contracts import LANE_WORKFLOW

HOUR = 3600.0


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        server.books.held = True
        yield server


def worker(server: StandIn, **more: object) -> Agent:
    return Agent("worker", server.model, **more)  # type: ignore[arg-type]


async def out(run: Run) -> None:
    """Until the requests are at the provider."""

    async def batches() -> int:
        return len(run.server.books.batches)

    await until(batches)


async def in_state(job: Job, state: str) -> JobView:
    return await until(job.view, lambda view: view.state == state)


async def test_jobs_that_wait_for_a_provider_batch_give_their_places_away(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("places", 8, concurrency=2)
        view = await until(batch.view, lambda view: view.batched == 8)
        assert (view.state, view.running, view.waiting, view.queued) == ("running", 0, 0, 0)
        await out(run)
        server.books.held = False
        rows = await ended(batch)

    assert (len(rows), len(server.books.batches)) == (8, 1)


async def test_jobs_whose_answers_come_back_together_go_on_together_however_many_may_begin(
    host: Host, server: StandIn
) -> None:
    working, most, together = 0, 0, asyncio.Event()

    @tool(read_only=True)
    async def look() -> str:
        nonlocal working, most
        working += 1
        most = max(most, working)
        if most == 12:
            together.set()
        await asyncio.wait_for(together.wait(), 30)
        working -= 1
        return "seen"

    server.books.answer = lambda body: responses_answer(body) if "seen" in str(body) else server.calling()
    async with running(host, server, worker(server, tools=[look])) as run:
        batch = await run.submit("together", 12, concurrency=2)
        await until(batch.view, lambda view: view.batched == 12)
        server.books.held = False
        rows = await ended(batch)

    assert (len(rows), most) == (12, 12)
    assert {row.status for row in rows} == {"complete"}


async def test_time_in_a_lane_is_no_work(host: Host, server: StandIn) -> None:
    limits = Limits(seconds=1.0)
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("slow", 1, limits=limits)
        await out(run)
        server.books.held = False
        (row,) = await ended(batch)

    assert row.status == "complete"
    assert row.outcome is not None
    assert row.outcome.batched_seconds > 0


async def test_a_job_whose_time_is_over_asks_at_once_and_pays_for_both_answers(host: Host, server: StandIn) -> None:
    looked, go_on = Flag(), Flag()

    @tool(read_only=True)
    async def look() -> str:
        looked.set()
        await go_on.wait()
        return "seen"

    server.books.answer = lambda body: responses_answer(body) if "seen" in str(body) else server.calling()
    async with running(host, server, worker(server, tools=[look])) as run:
        batch = await run.submit("late", 1, within=6.0)
        await out(run)
        await looked.wait()
        alone = len(server.books.alone)
        before = (await run.job(batch).view()).usage
        server.books.held = False
        await settled(run)
        after = (await until(run.job(batch).view, lambda view: view.usage.saved_usd > 0)).usage
        go_on.set()
        (row,) = await ended(batch)

    assert (alone, len(server.books.alone), len(server.books.batches)) == (1, 2, 1)
    assert row.outcome is not None
    assert (row.status, row.outcome.usage.model_calls) == ("complete", 3)
    assert after.cost_usd == pytest.approx(before.cost_usd * 1.5)


async def test_a_batch_hears_of_the_end_of_its_last_job_that_waits_no_longer(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.batches.batch.PACES", (3600.0,))
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("fallback", 1, within=6.0)
        await until(batch.view, lambda view: view.batched == 1)
        await until(batch.describe, lambda seen: not seen.raw_description.pending_activities)
        (row,) = await ended(batch)

    assert (row.status, len(server.books.alone)) == ("complete", 1)


async def test_a_cancelled_job_ends_at_once_and_its_answer_is_in_the_lanes_books(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("off", 1)
        await out(run)
        job = run.job(batch)
        await job.cancel()
        outcome = await job.outcome()
        server.books.held = False
        lane = await settled(run)

    assert (outcome.status, outcome.usage.cost_usd) == ("cancelled", 0.0)
    assert (lane.books.answered, lane.books.late) == (1, 1)
    assert lane.books.cost_usd > 0
    assert server.books.alone == []


async def test_a_request_that_nobody_waits_for_any_more_is_not_sent(host: Host, server: StandIn) -> None:
    terms = TERMS.model_copy(update={"quiet": 3.0})
    async with running(host, server, worker(server), terms=terms) as run:
        batch = await run.submit("gone", 1)
        job = run.job(batch)
        await until(run.lane, lambda lane: bool(lane.lines))
        await job.cancel()
        await settled(run)

    assert server.books.batches == []
    assert server.books.billed == {}


async def test_a_stopped_job_makes_its_closing_call_at_once(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("stop", 1)
        await out(run)
        job = run.job(batch)
        await job.stop()
        outcome = await job.outcome()

    assert (outcome.status, len(server.books.alone)) == ("cancelled", 1)
    assert outcome.answer is not None


async def test_a_paused_job_takes_its_answer_and_goes_on_when_it_is_resumed(host: Host, server: StandIn) -> None:
    @tool(read_only=True)
    def look() -> str:
        return "seen"

    server.books.answer = lambda body: responses_answer(body) if "seen" in str(body) else server.calling()
    async with running(host, server, worker(server, tools=[look])) as run:
        batch = await run.submit("pause", 1)
        await out(run)
        job = run.job(batch)
        await job.pause()
        await in_state(job, "paused")
        server.books.held = False
        view = await until(job.view, lambda view: view.usage.model_calls == 1)
        assert (view.state, view.tool_calls) == ("paused", 0)
        await job.resume()
        (row,) = await ended(batch)

    assert (row.status, len(server.books.batches), server.books.alone) == ("complete", 2, [])


async def test_a_message_to_a_waiting_job_is_in_its_next_request(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("steer", 1)
        await out(run)
        await run.job(batch).steer("and be quick")
        server.books.held = False
        (row,) = await ended(batch)

    assert (row.status, row.answer) == ("complete", "heard and be quick")
    assert len(server.books.batches) == 2


async def test_another_worker_polls_the_same_batch_on(host: Host, server: StandIn) -> None:
    agent = worker(server)
    async with host(agent, settings=SETTINGS) as client:
        run = Run(client, server)
        batch = await run.submit("handed-on", 4)
        await out(run)
    server.books.held = False
    async with host(agent, settings=SETTINGS):
        rows = await ended(batch)
        lane = await settled(run)
        await run.end()

    assert {row.status for row in rows} == {"complete"}
    assert (len(server.books.batches), lane.books.answered, server.books.most_billed) == (1, 4, 1)


async def test_models_without_batches_are_asked_at_once(host: Host, server: StandIn) -> None:
    scripted = Agent("worker", Script([{"text": "done"}]))
    async with running(host, server, scripted) as run:
        rows = await ended(await run.submit("script", 3))

    assert [(row.status, row.answer) for row in rows] == [("complete", "done")] * 3


async def test_the_flex_tier_is_asked_for_and_priced_by_what_the_answer_says(host: Host, server: StandIn) -> None:
    server.books.answer = lambda body: {**responses_answer(body), "service_tier": body.get("service_tier")}
    async with running(host, server, worker(server)) as run:
        rows = await ended(await run.submit("flex", 2, lane="flex"))

    assert [body["service_tier"] for body in server.books.alone] == ["flex", "flex"]
    assert server.books.batches == []
    for row in rows:
        assert row.outcome is not None
        assert row.outcome.usage.cost_usd == row.outcome.usage.saved_usd > 0


@pytest.mark.parametrize(
    ("model", "within", "batches", "tiers"),
    [
        ("openai:gpt-5", None, 1, []),
        ("openai:gpt-5", 25 * HOUR, 1, []),
        ("openai:gpt-5", HOUR, 0, ["flex", "flex"]),
        ("openai:gpt-4o", HOUR, 0, [None, None]),
    ],
)
async def test_auto_takes_the_batch_lane_if_there_is_a_day_and_else_what_the_model_has(
    host: Host,
    server: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    within: float | None,
    batches: int,
    tiers: list[str | None],
) -> None:
    for table in ("BATCH_HOSTS", "FLEX_HOSTS"):  # the stand-in counts as OpenAI
        monkeypatch.setattr(f"activities.lanes.choosing.{table}", ("127.0.0.1",))
    server.books.held = False
    async with running(host, server, Agent("worker", model)) as run:
        rows = await ended(await run.submit(f"auto-{model[7:]}-{within}", 2, lane="auto", within=within))

    assert [row.answer for row in rows] == ["heard say 1", "heard say 2"]
    assert len(server.books.batches) == batches
    assert [body.get("service_tier") for body in server.books.alone] == tiers


async def test_auto_takes_no_other_server_for_a_provider_that_has_lanes(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        rows = await ended(await run.submit("auto-elsewhere", 2, lane="auto"))

    assert {row.status for row in rows} == {"complete"}
    assert (server.books.batches, len(server.books.alone)) == ([], 2)
    assert [body.get("service_tier") for body in server.books.alone] == [None, None]


async def test_a_call_that_is_handed_in_twice_is_sent_once(host: Host, server: StandIn) -> None:
    terms = TERMS.model_copy(update={"quiet": 2.0})
    async with running(host, server, worker(server), terms=terms) as run:
        batch = await run.submit("twice", 1)
        (line,) = (await until(run.lane, lambda lane: bool(lane.lines))).lines
        (id,) = await run.ids(LANE_WORKFLOW)
        lane = run.client.temporal.get_workflow_handle(id)
        await lane.signal("hand_in", line)
        assert len((await run.lane()).lines) == 1
        await out(run)
        await lane.signal("hand_in", line)
        assert (await run.lane()).lines == []
        server.books.held = False
        await ended(batch)

    assert (len(server.books.batches), server.books.most_billed) == (1, 1)


async def test_what_no_lane_can_read_changes_nothing(host: Host, server: StandIn) -> None:
    async with running(host, server, worker(server)) as run:
        batch = await run.submit("noise", 1)
        await out(run)
        (id,) = await run.ids(LANE_WORKFLOW)
        lane = run.client.temporal.get_workflow_handle(id)
        for name in ("hand_in", "back", "change"):
            await lane.signal(name, {"nonsense": 1})
        await run.job(batch).handle().signal("lane_reply", {"turn": "x"})
        await run.job(batch).handle().signal("lane_reply", {"turn": 7, "text": "of another turn"})
        server.books.held = False
        (row,) = await ended(batch)

    assert (row.status, row.answer) == ("complete", "heard say 1")


async def test_one_job_whose_request_can_not_be_made_holds_up_no_other(
    host: Host, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, seen = LaneRequests.make, list[str]()

    async def poisoned(self: LaneRequests, client: Temporal, job: str, *rest: Any, **more: Any) -> Any:
        seen.append(job)
        if job.endswith("000002") and seen.count(job) > 1:
            raise LookupError("its transcript is gone")
        return await make(self, client, job, *rest, **more)

    monkeypatch.setattr(LaneRequests, "make", poisoned)
    server.books.held = False
    async with running(host, server, worker(server)) as run:
        rows = await ended(await run.submit("poison", 5))

    assert {row.status for row in rows} == {"complete"}
    assert (len(server.books.batches), len(server.books.alone), server.books.most_billed) == (1, 1, 1)


async def test_a_full_lane_leaves_jobs_in_their_places_until_there_is_room(host: Host, server: StandIn) -> None:
    terms = TERMS.model_copy(update={"requests": 3, "most": 3, "room": 0.2})
    async with running(host, server, worker(server), terms=terms) as run:
        batch = await run.submit("full", 9, concurrency=2)
        lane = await until(run.lane, lambda lane: lane.full and bool(lane.out))
        view = await until(batch.view, lambda view: view.running == 2)
        server.books.held = False
        rows = await ended(batch)
        lane = await settled(run)

    assert (view.batched, view.queued) == (view.batched, 9 - 2 - view.batched)
    assert 3 <= view.batched <= 3 + 2, "those that came in before the lane had said so may enter"
    assert [row.status for row in rows] == ["complete"] * 9
    assert (lane.full, lane.books.answered, server.books.most_billed, server.books.alone) == (False, 9, 1, [])


async def test_a_job_outside_of_a_full_lane_asks_at_once_when_its_time_is_over_and_closes_when_it_is_stopped(
    host: Host, server: StandIn
) -> None:
    terms = TERMS.model_copy(update={"requests": 1, "most": 1, "room": 60.0})
    async with running(host, server, worker(server), terms=terms) as run:
        first = await run.submit("first", 1)
        await until(run.lane, lambda lane: lane.full)
        hurried, stopped = await run.submit("hurried", 1, within=3.0), await run.submit("stopped", 1)
        (row,) = await ended(hurried)
        outside = await run.job(stopped).view()
        await run.job(stopped).stop()
        (closed,) = await ended(stopped)
        server.books.held = False
        await ended(first)

    assert (row.status, outside.state, closed.status) == ("complete", "running", "cancelled")
    assert len(server.books.alone) == 2


async def test_a_lane_goes_on_in_a_new_run_with_all_that_it_holds(host: Host, server: StandIn) -> None:
    terms = TERMS.model_copy(update={"events": 40})
    async with running(host, server, worker(server), terms=terms) as run:
        batch = await run.submit("long", 10)
        await out(run)
        server.books.held = False
        rows = await ended(batch)
        lane = await settled(run)
        (id,) = await run.ids(LANE_WORKFLOW, "ExecutionStatus = 'Running'")
        runs = [each async for each in run.client.temporal.list_workflows(f"WorkflowId = '{id}'")]

    assert len(rows) == 10
    assert len(runs) > 1
    assert (lane.books.answered, server.books.most_billed, server.books.alone) == (10, 1, [])
