"""Going on in a new run when history is long: the job is the same to all who look at it or send it something."""

import asyncio
import dataclasses
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecutionStatus

from activities import transcripts
from activities.agents import Agent
from activities.transcripts import fetch_page
from surefoot.client import Client
from surefoot.errors import SurefootError
from surefoot.job import Job
from tests.conftest import QUICK, Host
from tests.judge_transcript import judge_transcript
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds, look_up, looks, note, save, watched
from worker import Settings
from workflows.contracts import Decision, Entry, JobView, Limits, Message, Result, TranscriptPage
from workflows.showing import AGENT, PHASE, STATUS

pytestmark = pytest.mark.cold

FREE = Limits(rounds=None, tool_calls=None)
OFTEN: Settings = dataclasses.replace(QUICK, history_events=60)
AT_ONCE: Settings = dataclasses.replace(QUICK, history_events=1)


async def runs(client: Client, job: Job) -> int:
    found = [run async for run in client.temporal.list_workflows(f"WorkflowId = '{job.id}'")]
    return len(found)


def waits(view: JobView) -> bool:
    return view.state == "waiting"


async def test_a_job_of_a_hundred_rounds_goes_through_many_runs_and_is_one_job(host: Host) -> None:
    script, asked = watched(*[looks(f"k{n}") for n in range(100)], {"text": "done"})
    async with host(Agent("a", script, tools=[look_up], limits=FREE), settings=OFTEN) as client:
        job = await client.start("a", "go", by="ann")
        outcome = await job.outcome()
        transcript = await job.transcript()
        view = await job.view()
        number = await until(lambda: runs(client, job), lambda count: count >= 10)
        rows = [row for row in await client.jobs() if row.job == job.id]

    judge_transcript(transcript)
    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert kinds(transcript) == "M" + "TR" * 100 + "T"
    assert [entry.content for entry in transcript if isinstance(entry, Result)] == [
        f"value of k{n}" for n in range(100)
    ]
    assert (view.rounds, view.tool_calls, view.entries) == (100, 100, 202)
    assert (outcome.usage.model_calls, outcome.usage.tool_calls, len(asked)) == (101, 100, 101)
    assert 10 <= number <= 40
    assert [(row.agent, row.state, row.status) for row in rows] == [("a", "ended", "complete")]
    assert [len(request.transcript) for request in asked] == [1 + 2 * n for n in range(101)]


async def test_neither_a_new_run_nor_a_reply_makes_a_worker_replay_the_run_before(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def noted(client: Temporal, job: str, run_id: str, start: int) -> TranscriptPage:
        asked.append(run_id)
        return await fetch_page(client, job, run_id, start)

    monkeypatch.setattr(transcripts, "fetch_page", noted)
    script, requests = watched(*[looks(f"k{n}") for n in range(20)], {"text": "done"}, {"text": "and again"})
    async with host(Agent("a", script, tools=[look_up], limits=FREE), settings=OFTEN) as client:
        job = await client.start("a", "go")
        await job.outcome()
        await client.reply(job.id, "more")
        outcome = await job.outcome()
        number = await until(lambda: runs(client, job), lambda count: count >= 3)

    assert (outcome.answer, number >= 3) == ("and again", True)
    assert [len(request.transcript) for request in requests] == [*(1 + 2 * n for n in range(21)), 43]
    assert asked == []


async def test_a_new_run_keeps_memo_and_search_attributes(host: Host) -> None:
    script, _ = watched(
        *[looks(f"k{n}") for n in range(8)], calls(call("save", key="a"), text="must save"), {"text": "x"}
    )
    async with host(Agent("a", script, tools=[look_up, save], limits=FREE), settings=OFTEN) as client:
        job = await client.start("a", "go")
        await until(job.view, waits)
        handle = client.temporal.get_workflow_handle(job.id)
        described = await handle.describe()
        inbox = [item for item in await until(client.inbox) if item.job == job.id]
        await job.approve(inbox[0].call, by="ann")
        await job.outcome()
        ended = await handle.describe()

    memo, attributes = await described.memo(), described.typed_search_attributes
    assert (memo["agent"], memo["message"], len(memo["pending"])) == ("a", "go", 1)
    assert (attributes.get(AGENT), attributes.get(PHASE)) == ("a", "waiting")
    assert (ended.typed_search_attributes.get(PHASE), ended.typed_search_attributes.get(STATUS)) == (
        "ended",
        "complete",
    )
    assert "pending" not in await ended.memo()


async def test_a_call_that_waits_survives_new_runs_and_is_decided_once(host: Host) -> None:
    made = calls(call("look_up", key="a"), call("save", key="b"), call("look_up", key="c"), call("save", key="d"))
    script, _ = watched(made, {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, save]), settings=OFTEN) as client:
        job = await client.start("a", "go")
        # A query may see a task that is lost before it is recorded; the inbox shows what is recorded.
        await until(client.inbox, lambda items: any(item.job == job.id for item in items))
        before = await until(job.view, waits)
        first_run = (await client.temporal.get_workflow_handle(job.id).describe()).run_id
        for number in range(30):
            await job.steer(f"message {number}", id=f"m{number}")
        await until(lambda: runs(client, job), lambda count: count > 1)
        after = await until(job.view, waits)
        later = await client.temporal.get_workflow_handle(job.id).describe()
        listed = [item.call for item in await client.inbox() if item.job == job.id]
        for pending in after.pending:
            await job.approve(pending.call, by="ann")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert first_run != later.run_id
    assert after.pending == before.pending
    assert [each["call"] for each in (await later.memo())["pending"]] == [each.call for each in before.pending]
    assert listed == [each.call for each in before.pending]
    assert outcome.status == "complete"
    assert kinds(transcript) == "MTRRRR" + "M" * 30 + "T"
    assert [entry.content for entry in transcript if isinstance(entry, Result)] == [
        "value of a", "saved b", "value of c", "saved d",
    ]  # fmt: skip
    assert [entry.text for entry in transcript if isinstance(entry, Message)] == [
        "go", *(f"message {number}" for number in range(30)),
    ]  # fmt: skip


async def test_a_decision_that_comes_as_the_new_run_begins_leaves_nothing_in_the_inbox(host: Host) -> None:
    script, asked = watched(calls(call("save", key="a")), {"text": "done", "seconds": 1.0})
    agent = Agent("a", script, tools=[save])
    async with host(agent, settings=OFTEN) as client:
        job = await client.start("a", "go")
        view = await until(job.view, waits)
        handle = client.temporal.get_workflow_handle(job.id)
        word = Decision(call=view.pending[0].call, digest=view.pending[0].digest, choice="approve", by="ann")
        await asyncio.gather(*(job.steer(f"m{n}") for n in range(60)), handle.signal("decide", word))
        await until(lambda: _count(asked), lambda count: count == 2)
        described = await handle.describe()
        outcome = await job.outcome()

    assert described.typed_search_attributes.get(PHASE) == "running"
    assert "pending" not in await described.memo()
    assert outcome.status == "complete"


async def _count(asked: Sequence[object]) -> int:
    return len(asked)


async def test_five_hundred_messages_and_decisions_while_new_runs_are_due_are_neither_lost_nor_doubled(
    host: Host,
) -> None:
    """What raced the move to a new run failed in a loop elsewhere (temporal#4137)."""
    made = calls(*(call("save", key=f"k{n}") for n in range(20)))
    script, _ = watched(made, {"text": "done"})
    agent = Agent("a", script, tools=[save], limits=FREE)
    async with host(agent, settings=OFTEN) as client:
        job = await client.start("a", "go")
        view = await until(job.view, lambda seen: len(seen.pending) == 20)
        handle = client.temporal.get_workflow_handle(job.id)
        words = [Decision(call=p.call, digest=p.digest, choice="approve", by="ann") for p in view.pending]

        async def send(numbers: range) -> None:
            for number in numbers:
                await job.steer(f"m{number}", id=f"id-{number}")

        async def decide() -> None:
            for position, word in enumerate(words[:-1]):
                if position % 2:
                    await handle.signal("decide", word)
                else:
                    await _decided(job, word)

        await asyncio.gather(*(send(range(start, 480, 8)) for start in range(8)), decide())
        await _decided(job, words[-1])
        outcome = await job.outcome()
        transcript = await job.transcript()
        number = await runs(client, job)

    judge_transcript(transcript)
    results = [entry for entry in transcript if isinstance(entry, Result)]
    messages = [entry.text for entry in transcript if isinstance(entry, Message)]
    assert outcome.status == "complete"
    assert [result.content for result in results] == [f"saved k{n}" for n in range(20)]
    assert messages[0] == "go"
    assert sorted(messages[1:]) == sorted(f"m{n}" for n in range(480))
    assert number > 3


async def _decided(job: Job, word: Decision) -> None:
    """A person's client: sends the decision until it is taken, or was."""
    while True:
        try:
            await job.decide(word)
            return
        except SurefootError as error:
            if getattr(error, "kind", "") == "AlreadyDecided":
                return


async def test_a_reply_to_a_job_of_many_runs_reads_them_all(host: Host) -> None:
    script, asked = watched(*[looks(f"k{n}") for n in range(30)], {"text": "first"}, looks("more"), {"text": "second"})
    async with host(Agent("a", script, tools=[look_up], limits=FREE), settings=OFTEN) as client:
        job = await client.start("a", "go")
        await job.outcome()
    async with host(Agent("a", script, tools=[look_up], limits=FREE), settings=OFTEN) as client:
        await client.reply(job.id, "go on")
        outcome = await job.outcome()
        transcript = await job.transcript()
        view = await job.view()

    assert (outcome.status, outcome.answer) == ("complete", "second")
    assert kinds(transcript) == "M" + "TR" * 30 + "TM" + "TR" + "T"
    assert list(asked[-1].transcript) == transcript[:-1]
    assert (view.rounds, view.entries) == (31, 66)


async def test_limits_and_repetitions_are_counted_across_runs(host: Host) -> None:
    script, _ = watched(*[looks(f"k{n}") for n in range(20)], *[looks("same")] * 9)
    agent = Agent("a", script, tools=[look_up], limits=FREE)
    async with host(agent, settings=AT_ONCE) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        limited = await client.start("a", "go", limits=Limits(rounds=7, tool_calls=None))
        capped = await limited.outcome()

    assert (outcome.status, outcome.usage.tool_calls) == ("no_progress", 23)
    assert (capped.status, capped.usage.tool_calls) == ("hit_iteration_cap", 7)


async def test_time_is_counted_across_runs(host: Host) -> None:
    script, _ = watched(*[looks(f"k{n}") | {"seconds": 0.3} for n in range(30)])
    async with host(Agent("a", script, tools=[look_up], limits=Limits(seconds=2)), settings=AT_ONCE) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()

    assert outcome.status == "hit_wall_clock"
    assert 2 <= outcome.usage.tool_calls <= 6


async def test_a_job_that_is_always_due_for_a_new_run_still_gets_on(host: Host) -> None:
    made = calls(call("note", text="a"), call("look_up", key="b"), call("note", text="c"))
    script, _ = watched(made, looks("d"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, note]), settings=AT_ONCE) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert kinds(transcript) == "MTRRRTRT"


async def test_a_paused_job_stays_paused_through_new_runs(host: Host) -> None:
    script, asked = watched(looks("a") | {"seconds": 0.3}, {"text": "done"})
    async with host(Agent("a", script, tools=[look_up]), settings=OFTEN) as client:
        job = await client.start("a", "go")
        await until(lambda: _count(asked))
        await job.pause()
        await until(job.view, lambda seen: seen.state == "paused" and seen.entries == 2)
        for number in range(60):
            await job.steer(f"m{number}")
        await until(lambda: runs(client, job), lambda count: count > 1)
        held = await until(job.view)
        await job.resume()
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (held.state, held.tool_calls) == ("paused", 0)
    assert outcome.status == "complete"
    assert kinds(transcript) == "MTR" + "M" * 60 + "T"


async def test_a_job_that_was_reset_reads_its_own_transcript_not_the_cached_one(host: Host) -> None:
    script, asked = watched(looks("a"), looks("b") | {"seconds": 0.2}, calls(call("save", key="c")), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, save])) as client:
        job = await client.start("a", "go")
        await until(job.view, waits)
        handle = client.temporal.get_workflow_handle(job.id)
        history = await handle.fetch_history()
        completed = [
            event.event_id for event in history.events if event.HasField("workflow_task_completed_event_attributes")
        ]
        await _reset(client, job, completed[2])
        await until(lambda: _count(asked), lambda count: count > 3)
        view = await until(job.view, waits)
        await job.approve(view.pending[0].call, by="ann")
        outcome = await job.outcome()
        transcript = await job.transcript()

    judge_transcript(transcript)
    assert (outcome.status, kinds(transcript)) == ("complete", "MTRTRTRT")
    whole = _untimed(transcript)
    assert all(_untimed(request.transcript) == whole[: len(request.transcript)] for request in asked)


def _untimed(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """What was said, without when and how fast: a call that is made again takes another time."""
    return [entry.model_dump(exclude={"at", "seconds"}) for entry in entries]


async def _reset(client: Client, job: Job, event: int) -> None:
    from temporalio.api.common.v1 import WorkflowExecution
    from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

    described = await client.temporal.get_workflow_handle(job.id).describe()
    assert described.status == WorkflowExecutionStatus.RUNNING
    await client.temporal.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.temporal.namespace,
            workflow_execution=WorkflowExecution(workflow_id=job.id, run_id=described.run_id),
            reason="test",
            workflow_task_finish_event_id=event,
            request_id=uuid.uuid4().hex,
        )
    )
