"""A program with a client of its own: it finds the server and the queue that `surefoot dev` serves, and starts none."""

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.client import Client
from surefoot.embedded import lease, locks
from surefoot.embedded.errors import EmbeddedServerError
from surefoot.embedded.home import Home
from surefoot.settings import Settings, SettingsError
from tests.surefoot.embedded.conftest import Program, processes_of, until

pytestmark = pytest.mark.server

DEV = """
async with embedded.serve_foreground(settings) as server:
    say(address=server.address)
    await stop.wait()
"""


@pytest.fixture(autouse=True)
def at_home(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "agents.py").touch()
    monkeypatch.chdir(tmp_path)
    for name in ("SUREFOOT_APP", "SUREFOOT_TASK_QUEUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUREFOOT_HOME", str(settings.home))


async def jobs_of(client: Client) -> int:
    return (await client.temporal.count_workflows("WorkflowId = 'nobody'")).count


async def test_a_client_finds_the_server_of_dev_and_the_queue_of_its_app(
    settings: Settings, program: Callable[[str], Program], tmp_path: Path
) -> None:
    dev = await program(DEV).said()
    client = await Client.connect(app=str(tmp_path / "agents.py"))

    assert client.temporal.service_client.config.target_host == dev["address"]
    assert client.task_queue == settings.queue(tmp_path / "agents.py")
    assert await jobs_of(client) == 0


async def test_the_two_settings_that_dev_prints_lead_to_the_same_place(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    dev = await program(DEV).said()
    monkeypatch.setenv("TEMPORAL_ADDRESS", str(dev["address"]))
    monkeypatch.setenv("SUREFOOT_TASK_QUEUE", "surefoot-agents-ab12cd")
    monkeypatch.delenv("SUREFOOT_HOME")
    client = await Client.connect()

    assert client.task_queue == "surefoot-agents-ab12cd"
    assert await jobs_of(client) == 0


async def test_the_server_stays_for_as_long_as_the_connection_of_a_client(settings: Settings) -> None:
    async with lease(settings):
        client = await Client.connect(app="agents.py")
    free = locks.try_exclusive(Home(settings.home).leases)

    assert free is None  # and a server ends only when it gets this lock
    assert await jobs_of(client) == 0
    del client
    gc.collect()
    await until(lambda: processes_of(settings.home) == [])


@pytest.mark.parametrize("was_used", [False, True])
async def test_where_no_server_is_up_a_client_says_how_to_get_one_and_starts_none(
    settings: Settings, was_used: bool
) -> None:
    if was_used:
        async with lease(settings):
            pass
        await until(lambda: processes_of(settings.home) == [])
    with pytest.raises(EmbeddedServerError) as caught:
        await Client.connect(app="agents.py")

    assert str(caught.value) == (
        f"No embedded server is up in {settings.home}: start one with `surefoot dev --app FILE`. If one is up"
        " elsewhere, set SUREFOOT_HOME to its folder; for any other Temporal server set TEMPORAL_ADDRESS."
    )
    assert processes_of(settings.home) == []
    assert settings.home.exists() == was_used


async def test_without_an_app_a_client_of_the_embedded_server_has_no_queue_and_is_refused(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"^no app file, .*Client\.connect\(app=\"agents\.py\"\)"):
        await Client.connect()


async def test_an_app_file_that_is_not_there_is_refused_since_nobody_serves_its_queue(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        await Client.connect(app="agnets.py")

    named = str(tmp_path / "agnets.py")
    assert str(caught.value) == f"there is no app file {named!r}: name the one that `surefoot dev` runs"


async def test_an_address_that_the_caller_gives_needs_no_app(program: Callable[[str], Program]) -> None:
    dev = await program(DEV).said()
    client = await Client.connect(target_host=dev["address"])

    assert client.task_queue == "surefoot"
    assert os.environ.get("TEMPORAL_ADDRESS") is None
