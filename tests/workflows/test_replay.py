"""Histories of real runs replay on the current code; what they do not survive is seen before running jobs meet it."""

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from activities.payloads import data_converter
from activities.sandbox import Sandbox
from tests.conftest import Host
from tests.histories import record
from tests.histories.cast import agents
from tests.histories.scenario import Scenario, played, waits
from tests.histories.scenarios import SCENARIOS
from tests.waiting import until
from worker import WORKFLOWS
from workflows import calls, words
from workflows.calls import Calls
from workflows.contracts import CallState
from workflows.lanes.provider_batch import ProviderBatch
from workflows.pace import Pace

RECORDED = sorted(record.FOLDER.glob("*.json"))
WORKFLOW_CODE = Path(calls.__file__).parent
MOST_BYTES = 60_000
MACHINE = re.compile(r"/(home|root|usr|tmp|var|work|Users)/|site-packages|\d+@\w+")
"""What a file of this machine, or a worker's default name, looks like."""


def recorded(path: Path) -> WorkflowHistory:
    text = path.read_text(encoding="utf-8")
    # The ids of a job's children are made of its own.
    began = json.loads(text)["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(began["workflowId"], text)


def history(name: str) -> WorkflowHistory:
    (path,) = record.FOLDER.glob(f"{name}-0.1.0.json")
    return recorded(path)


async def replay(*histories: WorkflowHistory) -> None:
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=Sandbox(), data_converter=data_converter({}))
    for each in histories:
        await replayer.replay_workflow(each)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    await replay(recorded(path))


def test_every_scenario_is_recorded() -> None:
    names = {re.sub(r"(-run\d+)?-\d+\.\d+\.\d+$", "", path.stem) for path in RECORDED}

    assert names >= {scenario.name for scenario in SCENARIOS}


def test_every_workflow_is_recorded() -> None:
    types = {
        recorded(path).events[0].workflow_execution_started_event_attributes.workflow_type.name for path in RECORDED
    }

    assert types == {workflow._Definition.must_from_class(each).name for each in WORKFLOWS}


async def test_every_patch_is_recorded_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: dict[str, set[bool]] = {}
    patched = workflow.patched

    def noted(id: str) -> bool:
        taken.setdefault(id, set()).add(answer := patched(id))
        return answer

    monkeypatch.setattr(workflow, "patched", noted)
    await replay(*map(recorded, RECORDED))

    assert taken == {id: {True, False} for id in patches()}


def patches() -> set[str]:
    """The ids of all patches in workflow code, each of which is a constant of its module."""
    found: set[str] = set()
    for path in WORKFLOW_CODE.rglob("*.py"):
        for name in re.findall(r"\bpatched\((\w+)\)", path.read_text(encoding="utf-8")):
            module = ".".join(path.relative_to(WORKFLOW_CODE.parent).with_suffix("").parts)
            found.add(getattr(importlib.import_module(module), name))
    return found


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
    document = with_a_look(read(record.FOLDER / "half-price-lane2-0.1.0.json")[1])
    told = WorkflowHistory.from_json("lane/told", json.dumps(document))

    await replay(told)

    pause = ProviderBatch._paused
    monkeypatch.setattr(ProviderBatch, "_paused", lambda self, seconds, *, deaf: pause(self, seconds, deaf=False))
    with pytest.raises(RuntimeError, match="Fatal error in workflow machines: TimerMachine"):
        await replay(told)


# --- what may be published


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("data"), str) and "metadata" in value:
            yield from (str(item) for item in value["metadata"].values())
            return
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


async def payload_texts(found: WorkflowHistory) -> list[str]:
    payloads = [payload for event in found.events for payload in _payloads(event)]
    codec = data_converter({}).payload_codec
    assert codec is not None
    return [payload.data.decode() for payload in await codec.decode(payloads)]


def _payloads(message: Any) -> Iterator[Payload]:
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            parts = [item for item in value.values() if hasattr(item, "ListFields")]
        else:
            parts = list(value) if descriptor.is_repeated else [value]
        for part in parts:
            yield from _payloads(part)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_is_small_and_names_no_machine(path: Path) -> None:
    size, document = read(path)
    inside = await payload_texts(recorded(path))

    assert size <= MOST_BYTES
    assert inside
    assert [text for text in [*texts(document), *inside] if MACHINE.search(text)] == []


def read(path: Path) -> tuple[int, Any]:
    return path.stat().st_size, json.loads(path.read_text(encoding="utf-8"))


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
