"""The recorded histories: where they lie, what is in them, and whether the current code replays one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from activities.payloads import data_converter
from activities.sandbox import Sandbox
from worker import WORKFLOWS

FOLDER = Path(__file__).parent
RECORDED = sorted(FOLDER.glob("*.json"))


def recorded(path: Path) -> WorkflowHistory:
    text = path.read_text(encoding="utf-8")
    # The ids of a job's children are made of its own.
    began = json.loads(text)["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(began["workflowId"], text)


def history(name: str) -> WorkflowHistory:
    (path,) = FOLDER.glob(f"{name}-0.1.0.json")
    return recorded(path)


async def replay(*histories: WorkflowHistory) -> None:
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=Sandbox(), data_converter=data_converter({}))
    for each in histories:
        await replayer.replay_workflow(each)


def read(path: Path) -> tuple[int, Any]:
    return path.stat().st_size, json.loads(path.read_text(encoding="utf-8"))


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
