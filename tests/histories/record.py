"""Records the histories that test_replay.py replays: `python -m tests.histories.record`, or some scenarios by name.

One file for each run of what was played, `<scenario>-<version>.json`, and for each other workflow that had a part in
it. Only what has no recording in this version is recorded: a recorded history is never changed, and a release replays
them all, or says in the changelog that running jobs don't survive it.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from activities.payloads import data_converter
from surefoot import __version__
from tests.histories.recorded import FOLDER
from tests.histories.scenario import Scenario, played
from tests.histories.scenarios import SCENARIOS
from workflows.labels import WORKFLOW
from workflows.showing import ATTRIBUTES

TEMPORAL = Path(sys.executable).with_name("temporal")
IDENTITY = "recorder"
"""Instead of the process id and the name of the machine that a client has by default."""


@asynccontextmanager
async def server() -> AsyncIterator[Temporal]:
    async with await WorkflowEnvironment.start_local(
        identity=IDENTITY,
        dev_server_existing_path=str(TEMPORAL),
        dev_server_startup_timeout=timedelta(seconds=30),
        dev_server_log_level="error",
        dev_server_extra_args=[
            "--dynamic-config-value",
            'history.timerProcessorMaxTimeShift="10ms"',
            "--dynamic-config-value",
            'history.workflowIdReuseMinimalInterval="10ms"',
        ],
        search_attributes=ATTRIBUTES,
        data_converter=data_converter({}),
    ) as environment:
        yield environment.client


async def histories(temporal: Temporal, id: str) -> list[WorkflowHistory]:
    """The history of each run of a workflow, the oldest first."""
    runs = [run async for run in temporal.list_workflows(f"WorkflowId = '{id}'")]
    runs.sort(key=lambda run: run.start_time)
    return [await temporal.get_workflow_handle(id, run_id=run.run_id).fetch_history() for run in runs]


async def beside(temporal: Temporal, queue: str, played: str) -> dict[str, list[str]]:
    """The ids of all other workflows that ran on the task queue of what was played, by type, without further jobs."""
    found: dict[str, set[str]] = {}
    async for run in temporal.list_workflows(f"TaskQueue = '{queue}'"):
        if run.workflow_type != WORKFLOW and run.id != played:
            found.setdefault(run.workflow_type, set()).add(run.id)
    return {kind: sorted(ids) for kind, ids in sorted(found.items())}


def neutral(value: Any) -> Any:
    """Without stack traces: they name this machine's folders, and a replay does not read them."""
    if isinstance(value, dict):
        return {key: neutral(item) for key, item in value.items() if key != "stackTrace"}
    return [neutral(item) for item in value] if isinstance(value, list) else value


async def record(temporal: Temporal, scenario: Scenario) -> list[Path]:
    queue = f"{scenario.name}-queue"
    played_one = await played(temporal, scenario, queue=queue)
    written = _write(scenario.name, await histories(temporal, played_one.id))
    for kind, ids in (await beside(temporal, queue, played_one.id)).items():
        for number, id in enumerate(ids, start=1):
            which = f"{scenario.name}-{_in_words(kind)}{number if len(ids) > 1 else ''}"
            written += _write(which, await histories(temporal, id))
    return written


def _in_words(kind: str) -> str:
    """`ProviderBatch` as names of files have it: `provider-batch`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()


def _write(name: str, recorded: list[WorkflowHistory]) -> list[Path]:
    paths = []
    for number, history in enumerate(recorded, start=1):
        run = f"-run{number}" if len(recorded) > 1 else ""
        path = FOLDER / f"{name}{run}-{__version__}.json"
        text = json.dumps(neutral(history.to_json_dict()), separators=(",", ":"), ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def is_recorded(scenario: Scenario) -> bool:
    return any((FOLDER / f"{scenario.name}{run}-{__version__}.json").exists() for run in ("", "-run1"))


async def main(names: Sequence[str]) -> None:
    missing = [each for each in SCENARIOS if not is_recorded(each)]
    if known := sorted(set(names) - {each.name for each in missing}):
        raise SystemExit(
            f"{', '.join(known)}: recorded already, or no scenario. What was recorded stays as it is, for it shows what"
            " running jobs have behind them; what takes another way now is another scenario."
        )
    async with server() as temporal:
        for scenario in [each for each in missing if each.name in names or not names]:
            for path in await record(temporal, scenario):
                sys.stdout.write(f"{path.stat().st_size:7d}  {path.name}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    sys.stdout.flush()
    os._exit(0)  # Python's own farewell races with the SDK's threads (temporalio/sdk-python#300)
