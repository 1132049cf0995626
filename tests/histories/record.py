"""Records the histories that test_replay.py replays: `python -m tests.histories.record`, or some scenarios by name.

One file for each run of a job, `<scenario>-<version>.json`, and for each of its deliveries. Histories of earlier
versions stay: a release replays them all, or says in the changelog that running jobs don't survive it.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.testing import WorkflowEnvironment

from activities.payloads import data_converter
from surefoot import __version__
from surefoot.job import Job
from tests.histories.scenarios import SCENARIOS, Scenario, played
from workflows.lanes.contracts import LANE_WORKFLOW, PROVIDER_BATCH
from workflows.notices import WORKFLOW as DELIVERY
from workflows.queues.contracts import queue_id
from workflows.showing import ATTRIBUTES

FOLDER = Path(__file__).parent
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


async def histories(temporal: Temporal, job: str) -> list[dict[str, Any]]:
    """The history of each run of a job, the oldest first."""
    runs = [run async for run in temporal.list_workflows(f"WorkflowId = '{job}'")]
    runs.sort(key=lambda run: run.start_time)
    return [
        neutral((await temporal.get_workflow_handle(job, run_id=run.run_id).fetch_history()).to_json_dict())
        for run in runs
    ]


async def lanes(temporal: Temporal) -> list[str]:
    """The ids of all lanes, and behind each its provider batches."""
    query = f"WorkflowType IN ('{LANE_WORKFLOW}', '{PROVIDER_BATCH}')"
    return sorted([run.id async for run in temporal.list_workflows(query)])


def neutral(value: Any) -> Any:
    """Without stack traces: they name this machine's folders, and a replay does not read them."""
    if isinstance(value, dict):
        return {key: neutral(item) for key, item in value.items() if key != "stackTrace"}
    return [neutral(item) for item in value] if isinstance(value, list) else value


async def record(temporal: Temporal, scenario: Scenario) -> list[Path]:
    before = await lanes(temporal)
    job = await played(temporal, scenario)
    written = _write(scenario.name, await histories(temporal, job.id))
    for number, id in enumerate([id for id in await lanes(temporal) if id not in before], start=1):
        written += _write(f"{scenario.name}-lane{number}", await histories(temporal, id))
    if isinstance(job, Job) and (queue := (await job.view()).queue) is not None:
        written += _write(f"{scenario.name}-queue", await histories(temporal, queue_id("histories", queue)))
    deliveries = [
        await histories(temporal, child.id)
        async for child in temporal.list_workflows(f"WorkflowType = '{DELIVERY}'")
        if child.parent_id == job.id
    ]
    return [*written, *_write(f"{scenario.name}-told", [run for runs in deliveries for run in runs])]


def _write(name: str, recorded: list[dict[str, Any]]) -> list[Path]:
    paths = []
    for number, history in enumerate(recorded, start=1):
        run = f"-run{number}" if len(recorded) > 1 else ""
        path = FOLDER / f"{name}{run}-{__version__}.json"
        path.write_text(json.dumps(history, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


async def main(names: Sequence[str]) -> None:
    if not names:
        for old in FOLDER.glob(f"*-{__version__}.json"):
            old.unlink()
    async with server() as temporal:
        for scenario in [each for each in SCENARIOS if each.name in names or not names]:
            for path in await record(temporal, scenario):
                sys.stdout.write(f"{path.stat().st_size:7d}  {path.name}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    sys.stdout.flush()
    os._exit(0)  # Python's own farewell races with the SDK's threads (temporalio/sdk-python#300)
