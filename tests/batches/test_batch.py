"""A batch on a real server: every line once, in whatever way its jobs end, and a place for the next one."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from activities.agents import Agent
from activities.batches import jobs as batch_jobs
from activities.batches import refusals
from activities.providers.script import Script
from activities.tools.tool import tool
from surefoot.batches import batch as batch_module
from surefoot.batches.batch import Batch, BatchView
from surefoot.batches.results import BatchResult, results
from surefoot.batches.retrying import retry
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.errors import BatchEnded, BatchGivenUp, JobConflict, NoSuchBatch, WrongValue
from tests.batches.forgetting import forget
from tests.conftest import Host
from tests.waiting import Flag, until
from workflows.batches.contracts import BatchLine, BatchOrder, Budget

WORKER = Agent("worker", Script([{"text": "done"}]))


def lines(count: int, **more: object) -> list[BatchLine]:
    return [BatchLine(number=n, custom_id=f"id-{n}", input=f"say {n}", **more) for n in range(1, count + 1)]


async def submitted(client: Client, id: str, given: list[BatchLine], **more: object) -> Batch:
    order = BatchOrder(agent="worker")
    options = {"order": order, "digest": "x", **more}
    assert await submit(client.temporal, client.task_queue, given, id=id, **options)  # type: ignore[arg-type]
    return Batch(client.temporal, id)


async def ended(batch: Batch) -> BatchView:
    return await until(batch.view, lambda view: view.state == "ended")


async def rows(found: AsyncIterator[BatchResult]) -> list[BatchResult]:
    return [row async for row in found]


async def test_every_line_becomes_one_job_and_results_come_in_the_files_order(host: Host) -> None:
    async with host(WORKER) as client:
        batch = await submitted(client, "all", lines(50), concurrency=10)
        view = await ended(batch)
        assert (view.done, view.queued, view.failed, view.spent.jobs) == (50, 0, 0, 50)
        found = await rows(results(batch))
        assert [row.custom_id for row in found] == [f"id-{n}" for n in range(1, 51)]
        assert {row.answer for row in found} == {"done"}


async def test_the_same_submission_twice_is_one_batch_and_another_one_needs_another_id(host: Host) -> None:
    async with host(WORKER) as client:
        await submitted(client, "twice", lines(2))
        order = BatchOrder(agent="worker")
        assert not await submit(client.temporal, client.task_queue, lines(2), order, id="twice", digest="x")
        with pytest.raises(JobConflict, match="of other lines or with other options"):
            await submit(client.temporal, client.task_queue, lines(3), order, id="twice", digest="y")
        view = await ended(Batch(client.temporal, "twice"))
        assert (view.lines, view.done) == (2, 2)


async def test_as_many_jobs_run_at_the_same_time_as_may_and_no_more(host: Host) -> None:
    together, running, most = threading.Barrier(4), 0, 0

    @tool(read_only=True)
    def work() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        together.wait(timeout=30)
        running -= 1
        return "worked"

    agent = Agent("worker", Script([{"calls": [{"tool": "work"}]}, {"text": "done"}]), tools=[work])
    async with host(agent) as client:
        view = await ended(await submitted(client, "window", lines(32), concurrency=4))
        assert view.done == 32
        assert most == 4


async def test_jobs_that_run_for_long_still_take_their_places(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.batches.tend.FRESH", timedelta(seconds=1))
    begun, go = list[str](), Flag()

    @tool(read_only=True)
    async def work() -> str:
        begun.append("job")
        await go.wait()
        return "worked"

    agent = Agent("worker", Script([{"calls": [{"tool": "work"}]}, {"text": "done"}]), tools=[work])
    async with host(agent) as client:
        batch = await submitted(client, "long", lines(8), concurrency=2)
        later = (await batch.view()).submitted_at + timedelta(seconds=5)
        await until(batch.view, lambda _: datetime.now(UTC) > later)
        together = len(begun)
        go.set()
        view = await ended(batch)

    assert (together, view.done) == (2, 8)


async def test_lines_that_fail_or_stop_short_do_not_stop_the_others(host: Host) -> None:
    short = Agent("short", Script([{"text": "cut", "stop": "max_tokens"}]))
    async with host(WORKER, short) as client:
        given = lines(6)
        given[1] = given[1].model_copy(update={"agent": "nobody"})
        given[3] = given[3].model_copy(update={"agent": "short"})
        batch = await submitted(client, "mixed", given)
        view = await ended(batch)
        assert (view.done, view.failed + view.incomplete) == (4, 2)
        found = {row.line: row.status for row in await rows(results(batch))}
        assert found == {1: "complete", 2: "failed", 3: "complete", 4: "model_failure", 5: "complete", 6: "complete"}


async def test_a_job_that_waits_for_a_person_gives_its_place_to_the_next(host: Host) -> None:
    @tool
    def pay() -> str:
        return "paid"

    agent = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(agent) as client:
        batch = await submitted(client, "gives-way", lines(6), concurrency=2)
        view = await until(batch.view, lambda view: view.waiting == 6 and view.state == "waiting")
        assert (view.running, view.queued) == (0, 0)
        for number in range(1, 7):
            job = client.job(f"gives-way-{number:06d}")
            (pending,) = await job.all_pending()
            await job.approve(pending.call, by="ann")
        assert (await ended(batch)).done == 6


async def test_a_parked_batch_ends_when_the_last_job_tells_it_and_jobs_that_never_waited_tell_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.batches.batch.PACES", (3600.0,))

    @tool
    def pay() -> str:
        return "paid"

    payer = Agent("payer", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(WORKER, payer) as client:
        given = lines(4)
        given[3] = given[3].model_copy(update={"agent": "payer"})
        batch = await submitted(client, "parked", given)
        # No activity is held for it.
        await until(batch.describe, lambda seen: not seen.raw_description.pending_activities)
        await until(batch.view, lambda view: view.state == "waiting")
        job = client.job("parked-000004")
        (pending,) = await job.all_pending()
        await job.approve(pending.call, by="ann")
        view = await ended(batch)
        history = await batch.handle().fetch_history()
    told = [event.workflow_execution_signaled_event_attributes for event in history.events]

    assert view.done == 4
    assert [signal.signal_name for signal in told if signal.signal_name] == ["job_ended"]


async def test_poisoned_lines_among_a_hundred_strand_no_other(host: Host) -> None:
    def breaks(_: object) -> dict[str, object]:
        raise RuntimeError("a fault of the model's own code")

    poison = Agent("poison", Script(breaks))
    async with host(WORKER, poison) as client:
        given = lines(100)
        given[9] = given[9].model_copy(update={"agent": "nobody"})
        given[49] = given[49].model_copy(update={"agent": "poison"})
        given[99] = given[99].model_copy(update={"input": "x" * 999_999, "metadata": {}})
        batch = await submitted(client, "poisoned", given, concurrency=5)
        view = await ended(batch)
        found = [row.status for row in await rows(results(batch))]

    assert (view.done, view.failed + view.incomplete, view.queued) == (98, 2, 0)
    assert [n for n, status in enumerate(found, 1) if status != "complete"] == [10, 50]


async def test_each_way_to_end_frees_the_only_place(host: Host) -> None:
    slow = Agent("slow", Script([{"text": "late", "seconds": 60}]))
    short = Agent("short", Script([{"text": "cut", "stop": "max_tokens"}]))
    names = ["nobody", "short", "slow", "slow", "slow", "worker"]
    async with host(WORKER, slow, short) as client:
        given = [line.model_copy(update={"agent": name}) for line, name in zip(lines(6), names, strict=True)]
        batch = await submitted(client, "places", given, concurrency=1)

        async def runs(number: int) -> bool:
            view = await batch.view()
            return view.running == 1 and view.queued == 6 - number

        for number in (3, 4, 5):
            await until(lambda number=number: runs(number))  # type: ignore[misc]
            job = client.temporal.get_workflow_handle(f"places-{number:06d}")
            await (job.terminate() if number == 4 else job.cancel())
        view = await ended(batch)
        found = [row.status for row in await rows(results(batch))]

    assert found == ["failed", "model_failure", "cancelled", "failed", "cancelled", "complete"]
    assert (view.done, view.incomplete, view.failed, view.queued) == (1, 2, 3, 0)


async def test_a_paused_batch_begins_nothing_and_goes_on_when_resumed(host: Host) -> None:
    async with host(WORKER) as client:
        batch = await submitted(client, "held", lines(400), concurrency=1)
        await until(batch.view, lambda view: view.done > 0)
        await batch.pause(by="ann", reason="lunch")
        await until(batch.describe, lambda seen: not seen.raw_description.pending_activities)
        view = await until(batch.view, lambda view: view.running == 0)
        assert (view.state, view.hold) == ("held", "lunch")
        done = (await batch.view()).done
        assert 0 < done < 400
        await batch.set_concurrency(20, by="ann")
        assert (await batch.view()).done == done
        await batch.resume(by="ann")
        assert (await ended(batch)).done == 400


async def tending(batch: Batch) -> str | None:
    """The step that looks after its jobs just now."""
    return next((step.activity_id for step in (await batch.describe()).raw_description.pending_activities), None)


async def test_a_held_batch_is_charged_for_what_ends_meanwhile_and_ends_if_that_was_all(host: Host) -> None:
    go = Flag()

    @tool(read_only=True)
    async def look() -> str:
        await go.wait()
        return "seen"

    slow = Agent("slow", Script([{"calls": [{"tool": "look"}]}, {"text": "done"}]), tools=[look])
    async with host(slow) as client:
        given = [line.model_copy(update={"agent": "slow"}) for line in lines(3)]
        some = await submitted(client, "held-some", given, concurrency=2)
        every = await submitted(client, "held-all", given)
        await until(some.view, lambda view: view.running == 2)
        await until(every.view, lambda view: view.running == 3)
        for batch in (some, every):
            step = await tending(batch)
            await batch.pause(by="ann", reason="let me see")
            await until(lambda batch=batch: tending(batch), lambda now, step=step: now not in (None, step))  # type: ignore[misc]
        go.set()
        left = await until(some.view, lambda view: view.spent.jobs == 2)
        over = await until(every.view, lambda view: view.state == "ended")
        await some.resume(by="ann")
        resumed = await ended(some)

    assert (left.state, left.hold, left.done, left.queued) == ("held", "let me see", 2, 1)
    assert (over.done, over.spent.jobs) == (3, 3)
    assert (resumed.done, resumed.spent.jobs) == (3, 3)


async def test_the_rate_is_counted_from_what_ended_of_late(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.batches.batch.LATELY", timedelta(microseconds=1))
    counted = batch_jobs.ended_since
    asked: list[datetime] = []

    async def noted(temporal: Temporal, batch: str, since: datetime) -> int:
        asked.append(since)
        return await counted(temporal, batch, since)

    monkeypatch.setattr(batch_jobs, "ended_since", noted)
    async with host(WORKER) as client:
        batch = await submitted(client, "rated", lines(3))
        view = await until(batch.view, lambda view: bool(asked))
        await ended(batch)
        times = (view.submitted_at, datetime.now(UTC) + timedelta(minutes=1))
        counts = [await counted(client.temporal, batch.id, since) for since in times]

    assert counts == [3, 0]
    assert view.submitted_at < asked[0] < times[1]


def test_a_rate_counts_what_ended_of_late_over_that_time_or_else_all_over_all_of_it() -> None:
    assert batch_module._rate(timedelta(minutes=30), 60, None) == 2
    assert batch_module._rate(timedelta(minutes=30), 60, 50) == 10
    assert batch_module._rate(timedelta(minutes=30), 60, 0) == 2
    assert batch_module._rate(timedelta(minutes=30), 0, None) is None


async def test_cancelled_jobs_end_and_what_had_not_begun_never_does(host: Host) -> None:
    @tool
    def pay() -> str:
        return "paid"

    agent = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(agent) as client:
        batch = await submitted(client, "given-up", lines(30), concurrency=3)
        await until(batch.view, lambda view: view.waiting >= 3)
        await batch.cancel("cancel", by="ann")
        view = await ended(batch)
        assert view.incomplete == view.lines - view.queued
        assert view.done == 0
        with pytest.raises(BatchEnded, match="surefoot batch retry"):
            await batch.pause(by="ann")


async def test_a_batch_that_is_given_up_and_has_not_ended_says_so_whatever_it_is_told(host: Host) -> None:
    @tool
    def pay() -> str:
        return "paid"

    agent = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(agent) as client:
        batch = await submitted(client, "leaving", lines(3), concurrency=2)
        await until(batch.view, lambda view: view.waiting == 3)
        await batch.cancel("finish", by="ann")
        await until(batch.view, lambda view: view.state == "ending")
        for word in (
            batch.pause(by="ann"),
            batch.resume(by="ann"),
            batch.set_concurrency(7, by="ann"),
            retry(batch),
        ):
            with pytest.raises(BatchGivenUp, match=r"batch leaving is given up.*: surefoot batch retry leaving"):
                await word
        assert (await batch.view()).concurrency == 2
        await batch.cancel("cancel", by="ann")
        await ended(batch)
        assert await retry(batch) == 3


async def test_a_batch_that_was_given_up_goes_on_with_what_it_had_not_begun_though_nothing_failed(host: Host) -> None:
    slow = Agent("worker", Script([{"text": "done", "seconds": 0.2}]))
    async with host(slow) as client:
        batch = await submitted(client, "left", lines(30), concurrency=1)
        await batch.cancel("finish", by="ann")
        left = await ended(batch)
        with pytest.raises(WrongValue, match=r"ended before it began 'id-30': .* by: surefoot batch retry left"):
            await retry(batch, custom_ids=["id-30"])
        begin = await retry(batch)
        over = await ended(batch)

    assert left.queued > 0
    assert (begin, left.done) == (left.queued, 30 - left.queued)
    assert (over.done, over.queued) == (30, 0)


async def test_how_long_a_batch_takes_is_not_said_of_lines_that_do_not_begin(host: Host) -> None:
    slow = Agent("worker", Script([{"text": "done", "seconds": 1}]))
    async with host(slow) as client:
        batch = await submitted(client, "unhurried", lines(40), concurrency=2)
        going = await until(batch.view, lambda view: view.state == "running" and view.done > 0)
        await batch.pause(by="ann")
        held = await until(batch.view, lambda view: view.state == "held")
        await batch.cancel("cancel", by="ann")
        await ended(batch)

    assert going.left_seconds is not None
    assert (held.left_seconds, held.queued > 0) == (None, True)


async def test_what_failed_is_tried_again_and_its_attempts_are_kept(host: Host) -> None:
    async with host(WORKER) as client:
        given = lines(4)
        given[2] = given[2].model_copy(update={"agent": "late"})
        batch = await submitted(client, "again", given)
        assert (await ended(batch)).failed == 1
        late = Agent("late", Script([{"text": "better"}]))
    async with host(WORKER, late) as client:
        assert await retry(batch) == 1
        view = await ended(batch)
        assert (view.done, view.failed, view.lines) == (4, 0, 4)
        found = await rows(results(batch))
        assert [(row.attempt, row.answer) for row in found] == [(1, "done"), (1, "done"), (2, "better"), (1, "done")]
        assert await retry(batch) == 0
        with pytest.raises(WrongValue, match="no line with custom_id 'id-9'"):
            await retry(batch, custom_ids=["id-9"])


async def test_retries_at_once_of_a_batch_that_has_ended_are_all_done(host: Host) -> None:
    async with host(WORKER) as client:
        given = [line.model_copy(update={"agent": "late"}) for line in lines(4)]
        batch = await submitted(client, "at-once", given)
        assert (await ended(batch)).failed == 4
    async with host(WORKER, Agent("late", Script([{"text": "better"}]))) as client:
        again = [["id-1"], ["id-2"], ["id-3", "id-4"]]
        assert await asyncio.gather(*(retry(batch, custom_ids=each) for each in again)) == [1, 1, 2]
        view = await until(batch.view, lambda view: view.state == "ended" and view.done == 4)
        found = await rows(results(batch))

    assert (view.failed, view.queued) == (0, 0)
    assert [(row.attempt, row.answer) for row in found] == [(2, "better")] * 4


async def test_a_line_whose_job_was_deleted_is_told_as_such_and_may_be_tried_again(host: Host) -> None:
    async with host(WORKER) as client:
        batch = await submitted(client, "deleted", lines(3))
        assert (await ended(batch)).done == 3
        await forget(client.temporal, "deleted-000002")
        view = await until(batch.view, lambda view: view.forgotten == 1)
        assert (view.state, view.done, view.queued, view.running, view.failed) == ("ended", 2, 0, 0, 0)
        found = await until(lambda: rows(results(batch)), lambda found: found[1].state == "forgotten")
        assert [(row.state, row.status) for row in found] == [
            ("ended", "complete"), ("forgotten", None), ("ended", "complete"),
        ]  # fmt: skip
        assert found[1].error is not None
        assert "job deleted-000002 was begun, and the server has it no more" in found[1].error
        assert await retry(batch) == 0  # what it did is not known: nobody asks for it by the way
        assert await retry(batch, custom_ids=["id-2"]) == 1
        found = await until(lambda: rows(results(batch)), lambda found: len(found) == 3 and found[1].attempt == 2)
        view = await until(
            batch.view, lambda view: view.state == "ended", seconds=20
        )  # it waits for no job that is gone

    assert [(row.status, row.attempt) for row in found] == [("complete", 1), ("complete", 2), ("complete", 1)]
    assert (view.done, view.forgotten, view.queued) == (3, 0, 0)


async def test_a_job_that_was_deleted_while_its_batch_waits_for_people_is_not_queued(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.batches.standing.FRESH", timedelta(seconds=0.5))

    @tool
    def pay() -> str:
        return "paid"

    agent = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(agent) as client:
        batch = await submitted(client, "missing", lines(3))
        await until(batch.view, lambda view: view.state == "waiting" and view.waiting == 3)
        await forget(client.temporal, "missing-000002")
        view = await until(batch.view, lambda view: view.forgotten == 1)
        assert (view.state, view.waiting, view.queued, view.running) == ("waiting", 2, 0, 0)
        assert [row.state for row in await rows(results(batch, whole=True))] == ["waiting", "forgotten", "waiting"]
        await batch.cancel("cancel", by="ann")
        view = await until(batch.view, lambda view: view.state == "ended", seconds=90)

    assert (view.incomplete, view.forgotten, view.queued) == (2, 1, 0)


async def test_a_line_that_no_job_could_be_started_for_has_failed_and_is_tried_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, refusing = batch_jobs.begin, True

    async def begins(client: Temporal, queue: str, batch: str, line: BatchLine, *more: Any) -> str:
        if refusing and line.number == 2:
            raise RPCError("no mapping defined for search attribute X", RPCStatusCode.INVALID_ARGUMENT, b"")
        return await begin(client, queue, batch, line, *more)

    monkeypatch.setattr(batch_jobs, "begin", begins)
    async with host(WORKER) as client:
        batch = await submitted(client, "refused", lines(3))
        view = await ended(batch)
        assert (view.done, view.failed, view.forgotten, view.queued) == (2, 1, 0, 0)
        found = await rows(results(batch))
        assert (found[1].status, found[1].error) == ("failed", "no mapping defined for search attribute X")
        assert await retry(batch) == 1
        view = await until(batch.view, lambda view: view.state == "ended" and view.failed == 1)
        refusing = False
        assert await retry(batch, ["failed"]) == 1
        view = await until(batch.view, lambda view: view.state == "ended" and view.done == 3, seconds=20)
        found = await rows(results(batch))

    assert (view.failed, view.forgotten, view.queued, view.lines) == (0, 0, 0, 3)
    assert [(row.status, row.attempt) for row in found] == [("complete", 1), ("complete", 3), ("complete", 1)]


async def test_a_batch_that_was_terminated_says_so_and_a_retry_begins_what_it_had_not(host: Host) -> None:
    begun, go = list[str](), Flag()

    @tool(read_only=True)
    async def work() -> str:
        begun.append("job")
        await go.wait()
        return "worked"

    agent = Agent("worker", Script([{"calls": [{"tool": "work"}]}, {"text": "done"}]), tools=[work])
    async with host(agent) as client:
        batch = await submitted(client, "ended-by-hand", lines(6), concurrency=2)

        async def together() -> int:
            return len(begun)

        await until(together, lambda count: count == 2)
        await batch.handle().terminate("a mistake")
        view = await batch.view()
        again = await retry(batch)
        go.set()
        last = await until(batch.view, lambda view: view.state == "ended" and view.done == 6)
        found = await rows(results(batch))

    assert (view.state, view.hold) == (
        "ended",
        "its workflow was terminated on the server: jobs that run go on, and no other line begins until somebody lets"
        " it go on: surefoot batch retry ended-by-hand",
    )
    assert again > 0
    assert (last.hold, last.queued, len(begun)) == (None, 0, 6)
    assert [row.attempt for row in found] == [1] * 6


async def test_retries_at_once_that_share_a_line_count_it_once(host: Host) -> None:
    async with host(WORKER) as client:
        given = [line.model_copy(update={"agent": "late"}) for line in lines(3)]
        batch = await submitted(client, "shared", given)
        assert (await ended(batch)).failed == 3
    async with host(WORKER, Agent("late", Script([{"text": "better"}]))) as client:
        both = (["id-1", "id-2"], ["id-2", "id-3"])
        await asyncio.gather(*(retry(batch, custom_ids=each) for each in both), return_exceptions=True)
        await ended(batch)
        await retry(batch)  # whose lines were not all to be had, comes again
        view = await ended(batch)
        counts = await batch_jobs.count(client.temporal, batch.id)
    assert (view.done, view.failed, view.incomplete, view.queued, view.lines) == (3, 0, 0, 0, 3)
    assert view.spent.jobs == counts.ended  # each is charged once


async def test_submissions_at_once_under_one_id_are_one_batch_and_the_others_hear_of_it(host: Host) -> None:
    async with host(WORKER) as client:
        order = BatchOrder(agent="worker")
        sent = [(lines(3), "x"), (lines(3), "x"), (lines(2), "y")] * 3
        found = await asyncio.gather(
            *(submit(client.temporal, client.task_queue, each, order, id="one", digest=d) for each, d in sent),
            return_exceptions=True,
        )
        state = await Batch(client.temporal, "one").state()

    assert [each for each in found if each is True] == [True]
    own = [each for each, (_, digest) in zip(found, sent, strict=True) if digest == state.digest]
    others = [each for each, (_, digest) in zip(found, sent, strict=True) if digest != state.digest]
    assert sorted(own, key=bool) == [False] * (len(own) - 1) + [True]
    assert {type(each) for each in others} == {JobConflict}


async def test_a_spent_budget_stops_new_jobs_and_says_so(host: Host) -> None:
    agent = Agent("worker", Script([{"text": "done", "usage": {"input_tokens": 100, "output_tokens": 0}}]))
    async with host(agent) as client:
        batch = await submitted(client, "dear", lines(5000), concurrency=1, budget=Budget(tokens=300))
        view = await until(batch.view, lambda view: view.state == "held")
        assert view.hold is not None
        assert "the budget of 300 tokens is spent" in view.hold
        assert 3 <= view.done < 5000


async def test_no_such_batch(host: Host) -> None:
    async with host(WORKER) as client:
        with pytest.raises(NoSuchBatch, match="there is no batch nothing"):
            await Batch(client.temporal, "nothing").view()


async def test_a_batch_whose_lines_the_server_refuses_is_held_and_says_what_to_do(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, refusing = batch_jobs.begin, True

    async def begins(client: Temporal, queue: str, batch: str, line: BatchLine, *more: Any) -> str:
        if refusing:
            raise RPCError("no mapping defined for search attribute X", RPCStatusCode.INVALID_ARGUMENT, b"")
        return await begin(client, queue, batch, line, *more)

    monkeypatch.setattr(batch_jobs, "begin", begins)
    monkeypatch.setattr(refusals, "MANY", 10)
    async with host(WORKER) as client:
        batch = await submitted(client, "refused-all", lines(30), concurrency=5)
        held = await until(batch.view, lambda view: view.state == "held")
        refusing = False
        await batch.resume(by="ann")
        first = await ended(batch)
        found = await rows(results(batch))
        assert await retry(batch, ["failed"]) == held.failed
        last = await until(batch.view, lambda view: view.state == "ended" and view.done == 30, seconds=20)

    assert held.failed == 10
    assert held.hold is not None
    assert held.hold.startswith("the server took no job for 10 lines so far; the last one is line ")
    assert "no mapping defined for search attribute X" in held.hold
    assert held.hold.endswith("surefoot batch retry refused-all --failed")
    assert (first.failed, first.done) == (10, 20)
    assert found[0].error == "no mapping defined for search attribute X"
    assert (last.failed, last.queued) == (0, 0)


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
async def test_a_worker_whose_clock_is_wrong_charges_each_job_and_begins_no_more_than_may_run(
    host: Host, monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + ahead

    monkeypatch.setattr("activities.server_clock.datetime", Clock)
    monkeypatch.setattr("activities.batches.tend.FRESH", timedelta(seconds=1))
    monkeypatch.setattr("activities.batches.tend.LATE", timedelta(0))
    begun, go = list[str](), Flag()

    @tool(read_only=True)
    async def work() -> str:
        begun.append("job")
        if len(begun) > 4:
            await go.wait()
        return "worked"

    agent = Agent("worker", Script([{"calls": [{"tool": "work"}]}, {"text": "done"}]), tools=[work])
    async with host(agent) as client:
        batch = await submitted(client, f"clock-{ahead.days}", lines(12), concurrency=2)
        charged = await until(batch.view, lambda view: view.spent.jobs == 4)
        later = datetime.now(UTC) + timedelta(seconds=4)
        await until(batch.view, lambda _: datetime.now(UTC) > later)
        together = len(begun)
        go.set()
        view = await ended(batch)

    assert (charged.done, together) == (4, 6)
    assert (view.done, view.spent.jobs) == (12, 12)
