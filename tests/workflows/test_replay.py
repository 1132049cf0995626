"""Histories of real runs replay on the current code; what they do not survive is seen before running jobs meet it."""

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowHistory

from tests.conftest import Host
from tests.histories import record
from tests.histories.cast import agents
from tests.histories.recorded import FOLDER, RECORDED, history, read, recorded, replay
from tests.histories.scenario import Scenario, played, waits
from tests.histories.scenarios import SCENARIOS
from tests.waiting import until
from workflows import words
from workflows.calls import Calls
from workflows.contracts import CallState
from workflows.lanes.provider_batch import ProviderBatch
from workflows.pace import Pace


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    await replay(recorded(path))


# --- the check can fail


async def one_after_the_other(calls: Calls, group: list[CallState]) -> None:
    for each in group:
        await calls.execution.execute(each)
        await calls._gated(each)


async def test_reads_that_no_longer_run_together_do_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calls, "_together", one_after_the_other)

    with pytest.raises(workflow.NondeterminismError):
        await replay(history("complete"))


async def test_a_limit_that_is_reached_later_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflows.limits.Allowance.rounds_used_up", lambda allowance: False)

    with pytest.raises(workflow.NondeterminismError):
        await replay(history("limit-of-rounds"))


async def test_a_step_more_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Pace.hold

    async def slowly(pace: Pace) -> None:
        await workflow.sleep(1)
        await hold(pace)

    monkeypatch.setattr(Pace, "hold", slowly)

    with pytest.raises(workflow.NondeterminismError):
        await replay(history("complete"))


async def test_other_words_still_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "NOT_EXECUTED", "Left out: {why}.")
    monkeypatch.setattr(words, "EMPTY_ANSWER", "Say something.")

    await replay(history("limit-of-rounds"), history("odd-turns"))


def with_a_look(document: Any) -> Any:
    """The same history with a signal `look` behind its first timer, and the task in which nothing came of that."""
    events = document["events"]
    place = next(n for n, event in enumerate(events) if "timerStartedEventAttributes" in event) + 1
    task = events[1:4]
    sent = {"eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "eventId": "1", "eventTime": task[0]["eventTime"]}
    look: Any = {**sent, "workflowExecutionSignaledEventAttributes": {"signalName": "look", "input": {}}}
    added = [raised(event, 1, place) for event in (look, *task)]
    return {"events": [*events[:place], *added, *(raised(event, place + 1, len(added)) for event in events[place:])]}


def raised(value: Any, first: int, by: int) -> Any:
    """An event whose own number and those that it refers to are raised, if they are `first` or more."""
    if not isinstance(value, dict):
        return value
    return {
        name: str(int(each) + by)
        if name.lower().endswith("eventid") and int(each) >= first
        else raised(each, first, by)
        for name, each in value.items()
    }


async def test_a_provider_batch_that_began_before_there_were_webhooks_takes_no_notice_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = with_a_look(read(FOLDER / "half-price-lane2-0.1.0.json")[1])
    told = WorkflowHistory.from_json("lane/told", json.dumps(document))

    await replay(told)

    pause = ProviderBatch._paused
    monkeypatch.setattr(ProviderBatch, "_paused", lambda self, seconds, *, deaf: pause(self, seconds, deaf=False))
    with pytest.raises(RuntimeError, match="Fatal error in workflow machines: TimerMachine"):
        await replay(told)


# --- played now


@pytest.mark.parametrize("cached", [1000, 0], ids=["warm", "cold"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_what_is_played_now_replays_whether_its_worker_remembered_it_or_not(
    temporal: Temporal, scenario: Scenario, cached: int
) -> None:
    queue = f"replay-{scenario.name}-{cached}"
    job = await played(temporal, scenario, cached=cached, queue=queue)
    others = [id for ids in (await record.beside(temporal, queue, job.id)).values() for id in ids]

    for id in [job.id, *others]:
        await replay(*await record.histories(temporal, id))


@pytest.mark.parametrize("cached", [(1000, 0), (0, 1000)], ids=["warm-then-cold", "cold-then-warm"])
async def test_a_job_goes_on_in_a_worker_that_never_saw_it(host: Host, cached: tuple[int, int]) -> None:
    first, second = cached
    async with host(*agents(), cached=first) as client:
        job = await client.start("writer", "save all")
        view = await until(job.view, waits)
    async with host(*agents(), cached=second):
        for pending in view.pending:
            await job.approve(pending.call, digest=pending.digest, by="ann")
        outcome = await job.outcome()
    await replay(await client.temporal.get_workflow_handle(job.id).fetch_history())

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == [f"saved {key}" for key in "abcd"]
