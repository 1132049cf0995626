"""What is recorded for replays: each workflow with all that it does and hears, in small, and no word of a machine."""

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from tests.histories.recorded import RECORDED, payload_texts, read, recorded, replay
from tests.histories.scenarios import SCENARIOS
from worker import WORKFLOWS
from workflows import steps

WORKFLOW_CODE = Path(steps.__file__).parent
MOST_BYTES = 60_000
LOCAL_ACTIVITY = "core_local_activity"
MACHINE = re.compile(r"/(home|root|usr|tmp|var|work|Users)/|site-packages|\d+@\w+")
"""What a file of this machine, or a worker's default name, looks like."""


def test_every_scenario_is_recorded() -> None:
    names = {re.sub(r"(-run\d+)?-\d+\.\d+\.\d+$", "", path.stem) for path in RECORDED}

    assert names >= {scenario.name for scenario in SCENARIOS}


def test_every_workflow_is_recorded() -> None:
    assert {kind(recorded(path)) for path in RECORDED} == {definition(each).name for each in WORKFLOWS}


def kind(history: WorkflowHistory) -> str:
    return history.events[0].workflow_execution_started_event_attributes.workflow_type.name


def definition(each: type) -> workflow._Definition:
    return workflow._Definition.must_from_class(each)


def test_every_step_is_recorded() -> None:
    asked = {name for path in RECORDED for event in recorded(path).events for name in steps_in(event)}

    assert asked == {name for name, each in vars(steps).items() if hasattr(each, "__temporal_activity_definition")}


def steps_in(event: HistoryEvent) -> list[str]:
    if event.HasField("activity_task_scheduled_event_attributes"):
        return [event.activity_task_scheduled_event_attributes.activity_type.name]
    marker = event.marker_recorded_event_attributes
    if marker.marker_name != LOCAL_ACTIVITY:
        return []
    return [str(json.loads(marker.details["data"].payloads[0].data)["activity_type"])]


def test_every_signal_and_update_is_recorded() -> None:
    sent: dict[str, set[str]] = {}
    for path in RECORDED:
        events = recorded(path).events
        names = sent.setdefault(kind(recorded(path)), set())
        names |= {event.workflow_execution_signaled_event_attributes.signal_name for event in events}
        names |= {
            event.workflow_execution_update_accepted_event_attributes.accepted_request.input.name for event in events
        }
    understood = {each.name: {*each.signals, *each.updates} for each in map(definition, WORKFLOWS)}

    assert {name: names - {""} for name, names in sent.items()} == understood


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
        for name in re.findall(r"\bpatched\((.+?)\)", path.read_text(encoding="utf-8")):
            module = ".".join(path.relative_to(WORKFLOW_CODE.parent).with_suffix("").parts)
            found.add(getattr(importlib.import_module(module), name))
    return found


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


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_is_small_and_names_no_machine(path: Path) -> None:
    size, document = read(path)
    inside = await payload_texts(recorded(path))

    assert size <= MOST_BYTES
    assert inside
    assert [text for text in [*texts(document), *inside] if MACHINE.search(text)] == []
