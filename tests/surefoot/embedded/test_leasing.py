"""A lease means a server: for one process and for many, started at the same moment or while one ends."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeIndexedValueType, SearchAttributePair, TypedSearchAttributes
from temporalio.worker import Worker

from surefoot.embedded import lease, locks, processes
from surefoot.embedded.errors import EmbeddedServerError, HomeUnusable
from surefoot.embedded.home import Home
from surefoot.embedded.server import SEARCH_ATTRIBUTES
from surefoot.settings import Settings
from tests.surefoot.embedded.conftest import Program, processes_of, settings_at, until
from workflows.showing import AGENT, ATTRIBUTES, PHASE, STATUS

pytestmark = pytest.mark.server

HOLD = """
async with embedded.lease(settings) as lease:
    say(address=lease.address)
    await stop.wait()
"""


@workflow.defn(sandboxed=False)
class TenShortNaps:
    @workflow.run
    async def run(self) -> None:
        for _ in range(10):
            await workflow.sleep(timedelta(milliseconds=10))


async def test_the_server_answers_at_once_with_our_attributes_and_thirty_days_of_retention(settings: Settings) -> None:
    async with lease(settings) as server:
        client = await Client.connect(server.address)
        attributes = TypedSearchAttributes([SearchAttributePair(key, "x") for key in (AGENT, PHASE, STATUS)])
        await client.start_workflow("Any", id="a", task_queue="nobody", search_attributes=attributes)
        described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))

    assert described.config.workflow_execution_retention_ttl.ToTimedelta() == timedelta(days=30)
    types = {
        SearchAttributeIndexedValueType.KEYWORD: "Keyword",
        SearchAttributeIndexedValueType.KEYWORD_LIST: "KeywordList",
        SearchAttributeIndexedValueType.DATETIME: "Datetime",
        SearchAttributeIndexedValueType.DOUBLE: "Double",
        SearchAttributeIndexedValueType.INT: "Int",
    }
    assert {key.name: types[key.indexed_value_type] for key in ATTRIBUTES} == SEARCH_ATTRIBUTES
    assert server.version.startswith("temporal version ")


async def test_short_timers_are_short(settings: Settings) -> None:
    """The server's default rounds each of them up to a second."""
    async with lease(settings) as server:
        client = await Client.connect(server.address)
        async with Worker(client, task_queue="q", workflows=[TenShortNaps]):
            began = time.monotonic()
            await client.execute_workflow(TenShortNaps.run, id="naps", task_queue="q")

    assert time.monotonic() - began < 5


async def test_four_hundred_lists_of_jobs_at_once_are_all_answered(settings: Settings) -> None:
    async with lease(settings) as server:
        client = await Client.connect(server.address)
        counts = await asyncio.gather(*[client.count_workflows("SurefootState = 'waiting'") for _ in range(400)])

    assert {count.count for count in counts} == {0}


async def test_the_record_says_what_people_want_to_know(settings: Settings) -> None:
    async with lease(settings) as server:
        record = json.loads((settings.home / "server.json").read_text())

    assert record["address"] == server.address
    assert (record["state"], record["owner"], record["error"]) == ("ready", None, None)
    assert [record["server"]] == processes.find(Home(settings.home).marker)
    assert record["supervisor"] in processes_of(settings.home)


async def test_processes_that_start_at_the_same_moment_get_the_same_server(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    programs = [program(HOLD) for _ in range(4)]
    addresses = {str((await one.said())["address"]) for one in programs}

    assert len(addresses) == 1
    assert len(processes.find(Home(settings.home).marker)) == 1
    assert len(processes_of(settings.home)) == 2 + len(programs)


async def test_a_server_stays_while_it_is_used_and_ends_by_itself_afterwards(settings: Settings) -> None:
    async with lease(settings) as server:
        await asyncio.sleep(3 * settings.idle_seconds + 1)
        await Client.connect(server.address)
    await until(lambda: not processes_of(settings.home))

    assert json.loads((settings.home / "server.json").read_text())["state"] == "stopped"
    assert not locks.is_held(settings.home / "server.lock")


async def test_a_lease_taken_while_the_server_ends_waits_and_gets_a_new_one_at_the_same_address(
    settings: Settings,
) -> None:
    home = Home(settings.home)
    addresses = set()
    for _ in range(3):
        async with lease(replace(settings, idle_seconds=0.0)) as server:
            await Client.connect(server.address)
            addresses.add(server.address)
        # Held exclusively by the supervisor from its decision to end until the server is gone.
        await until(lambda: locks.is_held(home.leases) or not locks.is_held(home.supervisor))

    assert len(addresses) == 1


async def test_a_process_that_was_killed_holds_no_lease(settings: Settings, program: Callable[[str], Program]) -> None:
    holder = program(HOLD)
    await holder.said()
    holder.process.kill()
    await holder.end()

    await until(lambda: not processes_of(settings.home))


@pytest.mark.parametrize(
    "name",
    [
        "with blank and ümläut ☃",
        "a?b#c%41&d=e",
        'it\'s "quoted" $HOME `x` \\n',
        "line\nbreak",
        os.fsdecode(b"no text \xff"),
        "-",
        "/".join(["deep" * 10] * 8),
    ],
)
async def test_a_home_of_any_name_holds_its_own_database(tmp_path: Path, name: str) -> None:
    for settings in settings_at(tmp_path / name):
        async with lease(settings) as server:
            await Client.connect(server.address)

        assert (settings.home / "temporal.db").exists()


async def test_a_home_whose_path_is_too_long_for_sqlite_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "/".join(["deep" * 10] * 12), app=None, remote=None, task_queue=None)

    with pytest.raises(HomeUnusable, match=r"SUREFOOT_HOME is \d+ bytes long, and SQLite takes paths of about 480"):
        async with lease(settings):
            pytest.fail("not reached")

    assert os.listdir(tmp_path) == []


async def test_temporal_settings_of_the_environment_do_not_reach_the_embedded_server(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_TLS", "true")
    monkeypatch.setenv("TEMPORAL_API_KEY", "k")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "elsewhere")

    async with lease(settings) as server:
        client = await Client.connect(server.address)

        assert (await client.count_workflows("")).count == 0


async def test_modules_in_the_working_directory_do_not_take_the_place_of_the_supervisors(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("argparse.py", "surefoot.py", "json.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong module')")
    monkeypatch.chdir(tmp_path)

    async with lease(settings) as server:
        await Client.connect(server.address)


async def test_a_cancelled_wait_leaves_no_lease(settings: Settings) -> None:
    async def wait() -> None:
        async with lease(settings):
            pytest.fail("not reached")

    waiting = asyncio.create_task(wait())
    await until(lambda: (settings.home / "leases.lock").exists())
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    await until(lambda: not processes_of(settings.home))


async def test_a_home_that_is_removed_ends_its_server_and_tells_whoever_used_it(settings: Settings) -> None:
    async with lease(settings) as server:
        shutil.rmtree(settings.home)
        await until(lambda: not processes_of(settings.home))

        with pytest.raises(EmbeddedServerError, match="was removed while it was in use"):
            await asyncio.wait_for(server.lost(), 10)
