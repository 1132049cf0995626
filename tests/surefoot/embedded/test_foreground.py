"""The server of `surefoot dev`: it ends with its process, and others use it meanwhile."""

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Callable

import pytest
from temporalio.client import Client

from surefoot.embedded import lease, processes, serve_foreground
from surefoot.embedded.errors import HomeInUse
from surefoot.embedded.home import Home
from surefoot.settings import Settings
from tests.surefoot.embedded.conftest import Program, processes_of, until
from tests.surefoot.embedded.test_crashes import assert_job_is_there, start_job
from tests.surefoot.embedded.test_leasing import HOLD

pytestmark = pytest.mark.server

DEV = """
async with embedded.serve_foreground(settings) as server:
    say(address=server.address)
    await stop.wait()
say(ended=True)
"""


async def test_everything_is_there_after_ctrl_c_and_a_new_start(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    dev = program(DEV)
    first = await dev.said()
    async with lease(settings) as server:
        assert server.address == first["address"]
        await start_job(server, "before")
    code = await dev.end(signal.SIGINT)

    assert code == 0
    assert await dev.said() == {"ended": True}
    assert processes_of(settings.home) == []
    async with serve_foreground(settings) as server:
        await assert_job_is_there(server, "before")
        assert server.address == first["address"]
    assert processes_of(settings.home) == []


async def test_a_server_without_users_stays_as_long_as_dev(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    dev = program(DEV)
    address = str((await dev.said())["address"])
    record = json.loads((settings.home / "server.json").read_text())
    assert record["owner"] == dev.process.pid

    async with lease(settings) as server:
        assert server.address == address
    await Client.connect(address)
    assert await dev.end(signal.SIGTERM) == 0


@pytest.mark.crash
async def test_a_killed_dev_leaves_no_server(settings: Settings, program: Callable[[str], Program]) -> None:
    dev = program(DEV)
    await dev.said()
    dev.process.kill()
    await dev.end()

    await until(lambda: not processes_of(settings.home))


async def test_a_second_dev_is_told_who_has_the_home(settings: Settings, program: Callable[[str], Program]) -> None:
    first = program(DEV)
    address = (await first.said())["address"]

    with pytest.raises(HomeInUse) as caught:
        async with serve_foreground(settings):
            pytest.fail("not reached")

    assert caught.value.pid == first.process.pid
    assert str(caught.value) == (
        f"Process {first.process.pid} already serves {settings.home}. "
        "Other commands just use it; to run a second one, set SUREFOOT_HOME to another folder."
    )
    async with lease(settings) as server:
        assert server.address == address


async def test_two_devs_at_the_same_moment_make_one_server(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    body = "try:\n    async with embedded.serve_foreground(settings) as server:\n        say(served=True)\n"
    body += "        await stop.wait()\nexcept errors.HomeInUse as error:\n    say(served=False, pid=error.pid)"
    devs = [program(body) for _ in range(2)]
    said = [await dev.said() for dev in devs]

    winner = devs[[words["served"] for words in said].index(True)]
    (loser,) = [words for words in said if not words["served"]]
    assert loser["pid"] == winner.process.pid
    assert len(processes.find(Home(settings.home).marker)) == 1


async def test_dev_uses_a_server_that_runs_in_the_background(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    user = program(HOLD)
    address = (await user.said())["address"]

    async with serve_foreground(settings) as server:
        assert server.address == address
    assert await user.end(signal.SIGTERM) == 0


@pytest.mark.crash
async def test_others_get_a_server_again_when_dev_ends(settings: Settings, program: Callable[[str], Program]) -> None:
    dev = program(DEV)
    await dev.said()
    async with lease(settings) as server:
        await start_job(server, "before")
        assert await dev.end(signal.SIGINT) == 0

        await until(lambda: json.loads((settings.home / "server.json").read_text())["state"] == "ready")
        await assert_job_is_there(server, "before")


@pytest.mark.crash
async def test_a_killed_supervisor_does_not_end_dev(settings: Settings) -> None:
    async with serve_foreground(settings) as server:
        await start_job(server, "before")
        victim = json.loads((settings.home / "server.json").read_text())["supervisor"]
        os.kill(victim, signal.SIGKILL)
        await until(lambda: json.loads((settings.home / "server.json").read_text())["supervisor"] != victim)

        await assert_job_is_there(server, "before")


async def test_temporals_own_web_interface_is_there_if_asked_for(settings: Settings) -> None:
    async with serve_foreground(settings, ui=True) as server:
        assert server.ui is not None
        page = await asyncio.to_thread(urllib.request.urlopen, server.ui, timeout=10)
        with page:
            assert page.status == 200
    async with serve_foreground(settings) as server:
        assert server.ui is None
