"""Jobs that this process can't read, for want of a key or since another program wrote them, beside those it can."""

import base64
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client as Temporal
from temporalio.common import SearchAttributePair, TypedSearchAttributes

from activities.agents import Agent
from activities.apps import App
from activities.artifacts import Artifacts
from activities.payloads import KEYS, data_converter
from surefoot.client import Client
from surefoot.errors import Unreadable
from surefoot.inbox import InboxItem
from surefoot.job import Job
from surefoot.lists import JobRow
from surefoot.rpc import reaching
from tests.conftest import QUICK, Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, writer
from worker import hosting
from workflows.showing import AGENT, PHASE

KEY = f"lost:{base64.b64encode(bytes(range(32))).decode()}"
MISSING = (
    "job {job} can't be read here: history is encrypted with key 'lost', this process has: none; add that key to"
    " SUREFOOT_ENCRYPTION_KEYS"
)


@pytest.fixture
def agent() -> Agent:
    return writer(f"w-{uuid.uuid4().hex[:8]}", [call("save", key="a")], tools=[Ledger().tool()])


@asynccontextmanager
async def sealed(temporal: Temporal, agent: Agent, folder: Path) -> AsyncIterator[Client]:
    """A client with the key, and a worker."""
    converter = data_converter({KEYS: KEY})
    keyed = await Temporal.connect(temporal.service_client.config.target_host, data_converter=converter)
    queue = f"sealed-{agent.name}"
    async with hosting(
        keyed, App([agent]), task_queue=queue, settings=replace(QUICK, artifacts=Artifacts(folder / "sealed"))
    ):
        yield Client(keyed, task_queue=queue)


async def listed(client: Client, agent: str, states: list[str]) -> dict[str, JobRow]:
    rows = await until(
        lambda: client.jobs(agent=agent), lambda rows: sorted(row.state for row in rows) == sorted(states)
    )
    return {row.job: row for row in rows}


async def inbox(client: Client, agent: str, count: int) -> dict[str, InboxItem]:
    items = await until(client.inbox, lambda items: sum(item.agent == agent for item in items) == count)
    return {item.job: item for item in items if item.agent == agent}


async def test_lists_show_the_readable_jobs_and_of_the_others_what_is_known_and_why_no_more(
    host: Host, temporal: Temporal, agent: Agent, tmp_path: Path
) -> None:
    async with sealed(temporal, agent, tmp_path) as keyed, host(agent) as client:
        hidden, _ = await started(keyed, agent.name)
        plain, _ = await started(client, agent.name)
        items = await inbox(client, agent.name, 2)
        rows = await listed(client, agent.name, ["waiting", "waiting"])
        opened = await inbox(keyed, agent.name, 2)
        for client_, job in ((keyed, hidden), (client, plain)):
            await client_.job(job.id).cancel()
            await ended(job)

    assert (rows[plain.id].state, rows[plain.id].problem) == ("waiting", None)
    assert (rows[hidden.id].state, rows[hidden.id].problem) == ("waiting", MISSING.format(job=hidden.id))
    assert (items[plain.id].arguments, items[plain.id].problem) == ({"key": "a"}, None)
    unread = items[hidden.id]
    assert (unread.call, unread.tool, unread.arguments, unread.allowed) == ("?", "?", {}, [])
    assert unread.problem == MISSING.format(job=hidden.id)
    assert [opened[job].problem for job in (hidden.id, plain.id)] == [None, None]


LOOKS: dict[str, Callable[[Client, Job], Awaitable[Any]]] = {
    "view": lambda client, job: client.job(job.id).view(),
    "transcript": lambda client, job: client.job(job.id).transcript(),
    "pending": lambda client, job: client.job(job.id).pending("c1-1"),
    "approve": lambda client, job: client.job(job.id).approve("c1-1", digest="d", by="ann"),
    "start": lambda client, job: client.start("a", "go", id=job.id),
}


async def test_an_unreadable_job_that_runs_says_which_key_is_missing_whatever_is_asked_of_it(
    host: Host, temporal: Temporal, agent: Agent, tmp_path: Path
) -> None:
    said = {}
    async with sealed(temporal, agent, tmp_path) as keyed, host() as client:
        job, _ = await started(keyed, agent.name)
        for name, look in LOOKS.items():
            with pytest.raises(Unreadable) as caught:
                await look(client, job)
            said[name] = str(caught.value)
        await job.cancel()
        await ended(job)

    assert said == dict.fromkeys(LOOKS, MISSING.format(job=job.id))


async def test_an_unreadable_job_that_ended_says_which_key_is_missing(
    host: Host, temporal: Temporal, agent: Agent, tmp_path: Path
) -> None:
    async with sealed(temporal, agent, tmp_path) as keyed, host() as client:
        job, _ = await started(keyed, agent.name)
        await job.cancel()
        await ended(job)
        (row,) = (await listed(client, agent.name, ["ended"])).values()
        for look in (client.job(job.id).view, client.job(job.id).outcome, lambda: client.reply(job.id, "more")):
            with pytest.raises(Unreadable) as caught:
                await look()
            assert str(caught.value) == MISSING.format(job=job.id)

    assert (row.state, row.status, row.problem) == ("ended", "cancelled", MISSING.format(job=job.id))


@pytest.mark.parametrize(
    "payload",
    [
        Payload(metadata={"encoding": b"json/plain"}, data=b'"in spring"'),
        Payload(metadata={"encoding": b"json/plain"}, data=b"{"),
        Payload(metadata={"encoding": b"json/protobuf"}, data=b"{}"),
        Payload(metadata={"encoding": b"binary/of-theirs"}, data=b"x"),
        Payload(data=b"x"),
    ],
    ids=["another type", "no JSON", "a protobuf message", "an unknown encoding", "no encoding"],
)
async def test_whatever_another_program_wrote_is_a_problem_of_the_job_and_of_nothing_else(payload: Payload) -> None:
    with (
        pytest.raises(Unreadable, match=r"^job strange can't be read here: what the server keeps"),
        reaching("strange"),
    ):
        await data_converter({}).decode([payload], [datetime])


def test_an_error_that_is_no_payloads_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="loop is closed"), reaching("a"):
        raise RuntimeError("loop is closed")


async def test_a_job_of_another_program_is_a_row_that_says_so(temporal: Temporal) -> None:
    client, name = Client(temporal), f"strange-{uuid.uuid4().hex[:8]}"
    attributes = TypedSearchAttributes([SearchAttributePair(AGENT, name), SearchAttributePair(PHASE, "waiting")])
    handle = await temporal.start_workflow(
        "AgentJob",
        id=name,
        task_queue="served-by-nobody",
        memo={"started": "in spring", "pending": [{"call": "c1-1"}]},
        search_attributes=attributes,
    )
    try:
        row = (await listed(client, name, ["waiting"]))[name]
        item = (await inbox(client, name, 1))[name]
    finally:
        await handle.terminate()

    for problem in (row.problem, item.problem):
        assert problem is not None
        assert problem.startswith(
            f"job {name} can't be read here: what the server keeps of it is not what this version of Surefoot writes"
        )
