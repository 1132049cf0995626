"""With a key, nothing that was said, asked, returned or failed stands readable in what the server keeps."""

import base64
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.apps import App
from activities.artifacts import Artifacts
from activities.payloads import KEYS, data_converter
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.errors import DecisionRefused
from surefoot.inbox import InboxItem
from tests.conftest import QUICK
from tests.waiting import until
from tests.workflows.scripting import call, calls, save, watched
from worker import hosting
from workflows.contracts import Limits

SECRET = "swordfish"
OLD = f"old:{base64.b64encode(bytes(range(32))).decode()}"
NEW = f"new:{base64.b64encode(bytes(range(1, 33))).decode()}"


@tool(read_only=True, retries=1)
async def stumble(key: str) -> str:
    """Fail with a text that tells."""
    raise ValueError(f"no {SECRET}")


@asynccontextmanager
async def hosted(temporal: Temporal, keys: str, queue: str, folder: Path, *agents: Agent) -> AsyncIterator[Client]:
    client = await Temporal.connect(
        temporal.service_client.config.target_host, data_converter=data_converter({KEYS: keys} if keys else {})
    )
    settings = dataclasses.replace(QUICK, artifacts=Artifacts(folder))
    async with hosting(client, App(agents), task_queue=queue, settings=settings):
        yield Client(client, task_queue=queue)


async def kept(temporal: Temporal, job: str) -> bytes:
    """All that the server has of a job, as bytes."""
    handle = temporal.get_workflow_handle(job)
    history = await handle.fetch_history()
    described = (await handle.describe()).raw_description.SerializeToString()
    return described + b"".join(event.SerializeToString() for event in history.events)


@pytest.mark.parametrize("fails", [False, True], ids=["complete", "failed"])
async def test_what_the_server_keeps_is_unreadable_and_the_job_goes_its_way(
    temporal: Temporal, tmp_path: Path, fails: bool
) -> None:
    said = calls(call("stumble", key=SECRET), call("save", key=SECRET), text=SECRET)
    failing = {"error": {"kind": "Rejected", "message": SECRET}}
    script, _ = watched(said, failing if fails else {"text": SECRET})
    async with hosted(temporal, OLD, f"sealed-{fails}", tmp_path, Agent("a", script, tools=[stumble, save])) as client:
        job = await client.start("a", SECRET)
        view = await until(job.view, lambda seen: seen.state == "waiting")
        inbox = await until(lambda: _items(client, job.id))
        waiting = await kept(temporal, job.id)
        await job.approve(view.pending[0].call, by="ann")
        outcome = await job.outcome()
        ended = await kept(temporal, job.id)

    assert [item.arguments for item in inbox] == [{"key": SECRET}]
    assert outcome.status == ("model_failure" if fails else "complete")
    assert [finding.content for finding in outcome.findings] == [
        f"The tool failed: ValueError: no {SECRET}", f"saved {SECRET}",
    ]  # fmt: skip
    assert SECRET in ((outcome.error if fails else outcome.answer) or "")
    assert SECRET.encode() not in waiting
    assert SECRET.encode() not in ended


async def _items(client: Client, job: str) -> list[InboxItem]:
    return [item for item in await client.inbox() if item.job == job]


async def test_a_job_outlives_a_change_of_keys(temporal: Temporal, tmp_path: Path) -> None:
    script, _ = watched(calls(call("save", key="a")), {"text": "done"})
    agent = Agent("a", script, tools=[save])
    async with hosted(temporal, OLD, "rotated", tmp_path, agent) as client:
        job = await client.start("a", "go", limits=Limits(rounds=3))
        view = await until(job.view, lambda seen: seen.state == "waiting")
    async with hosted(temporal, f"{NEW},{OLD}", "rotated", tmp_path, agent) as client:
        renewed = client.job(job.id)
        with pytest.raises(DecisionRefused, match="waits with arguments of digest"):
            await renewed.approve(view.pending[0].call, digest="stale", by="ann")
        await renewed.approve(view.pending[0].call, by="ann")
        outcome = await renewed.outcome()

    assert outcome.status == "complete"
