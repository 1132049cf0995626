"""Whatever is killed: jobs stay, the server comes back, and nothing is left behind or taken from others."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable

import pytest
from temporalio.client import Client

from surefoot.embedded import lease, processes, wait_until_ready
from surefoot.embedded.command import find_command
from surefoot.embedded.errors import EmbeddedServerError
from surefoot.embedded.home import Home, prepare
from surefoot.embedded.leasing import Lease
from surefoot.embedded.record import ServerRecord, read, write
from surefoot.embedded.server import server_command
from surefoot.settings import Settings
from tests.surefoot.embedded.conftest import Program, processes_of, start, until
from tests.surefoot.embedded.test_leasing import HOLD

pytestmark = [pytest.mark.server, pytest.mark.crash]


def record_of(settings: Settings) -> ServerRecord:
    record = read(settings.home / "server.json")
    assert record is not None
    return record


def bindable(port: int | None) -> bool:
    try:
        socket.create_server(("127.0.0.1", port or 0)).close()
    except OSError:
        return False
    return True


async def start_job(server: Lease, job: str) -> None:
    client = await Client.connect(server.address)
    await client.start_workflow("Any", id=job, task_queue="nobody")


async def assert_job_is_there(server: Lease, job: str) -> None:
    client = await wait_until_ready(lambda: Client.connect(server.address), address=server.address)
    description = await client.get_workflow_handle(job).describe()
    assert description.id == job


async def test_a_killed_server_is_started_again_at_its_address_with_everything_in_it(settings: Settings) -> None:
    async with lease(settings) as server:
        await start_job(server, "before")
        before = record_of(settings)
        assert before.server is not None
        os.kill(before.server, signal.SIGKILL)
        await until(lambda: record_of(settings).state == "ready" and record_of(settings).server != before.server)

        assert record_of(settings).address == server.address
        assert record_of(settings).supervisor == before.supervisor
        await assert_job_is_there(server, "before")


async def test_a_killed_supervisor_is_replaced_while_a_lease_is_held(settings: Settings) -> None:
    async with lease(settings) as server:
        await start_job(server, "before")
        before = record_of(settings)
        os.kill(before.supervisor, signal.SIGKILL)
        await until(
            lambda: record_of(settings).state == "ready" and record_of(settings).supervisor != before.supervisor
        )

        assert record_of(settings).address == server.address
        assert len(processes.find(Home(settings.home).marker)) == 1
        await assert_job_is_there(server, "before")


async def test_everything_killed_at_once_is_there_again_for_the_next(
    settings: Settings, program: Callable[[str], Program]
) -> None:
    holder = program(HOLD)
    await holder.said()
    async with lease(settings) as server:
        await start_job(server, "before")
    victims = processes_of(settings.home)
    assert len(victims) == 3
    for pid in victims:
        os.kill(pid, signal.SIGKILL)

    async with lease(settings) as server:
        await assert_job_is_there(server, "before")


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux ends a child with its parent; elsewhere the next start does"
)
async def test_a_supervisor_killed_without_leases_leaves_no_server(settings: Settings) -> None:
    async with lease(settings):
        victim = record_of(settings).supervisor
    os.kill(victim, signal.SIGKILL)

    await until(lambda: not processes_of(settings.home))


async def test_an_orphaned_server_is_ended_before_another_uses_its_database(settings: Settings) -> None:
    async with lease(settings) as server:
        await start_job(server, "before")
    await until(lambda: not processes_of(settings.home))
    port = record_of(settings).port
    assert port is not None
    command = server_command(find_command(), Home(settings.home), port, None)
    orphan = start(*command, cwd=settings.home)
    await until(lambda: processes.find(Home(settings.home).marker) == [orphan.pid])

    async with lease(settings) as server:
        await assert_job_is_there(server, "before")
        orphan.communicate(timeout=10)
        assert processes.find(Home(settings.home).marker) == [record_of(settings).server]


async def test_a_process_that_only_resembles_our_server_is_left_alone(settings: Settings) -> None:
    home = prepare(settings.home)
    wait = "import sys; sys.stdin.read()"
    resembling = ["--db-filename", "temporal.db", str(home.path / "temporal.db"), f"x{home.marker}", f"{home.marker}x"]
    bystander = start(sys.executable, "-c", wait, *resembling)
    write(home.record, ServerRecord(state="ready", supervisor=bystander.pid, server=bystander.pid, port=1))
    try:
        async with lease(settings) as server:
            await Client.connect(server.address)

        assert bystander.poll() is None
    finally:
        bystander.communicate(timeout=10)


async def test_a_stale_record_is_not_believed_and_a_port_taken_since_is_not_used(settings: Settings) -> None:
    home = prepare(settings.home)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        write(home.record, ServerRecord(state="ready", supervisor=os.getpid(), server=os.getpid(), port=port))

        async with lease(settings) as server:
            await Client.connect(server.address)

            assert server.address != f"127.0.0.1:{port}"


async def test_a_garbled_record_is_passed_over(settings: Settings) -> None:
    home = prepare(settings.home)
    home.record.write_bytes(b'{"state": "ready", "supervisor": \xff')

    async with lease(settings) as server:
        await Client.connect(server.address)


async def test_a_port_taken_while_the_server_was_down_is_reported_to_whoever_held_the_address(
    settings: Settings,
) -> None:
    async with lease(settings) as server:
        before = record_of(settings)
        assert before.server is not None
        assert before.port is not None
        os.kill(before.supervisor, signal.SIGSTOP)
        os.kill(before.server, signal.SIGKILL)
        await until(lambda: bindable(before.port))
        with socket.create_server(("127.0.0.1", before.port)):
            os.kill(before.supervisor, signal.SIGCONT)

            with pytest.raises(EmbeddedServerError, match=f"moved from {server.address} to 127.0.0.1:.*jobs are safe"):
                await asyncio.wait_for(server.lost(), 20)


async def test_a_server_that_dies_again_and_again_is_given_up_with_a_reason(settings: Settings) -> None:
    async with lease(settings) as server:
        supervisor = record_of(settings).supervisor
        killed: set[int] = set()
        while record_of(settings).state != "failed":
            for pid in processes.find(Home(settings.home).marker):
                if pid not in killed and record_of(settings).supervisor == supervisor:
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
            await asyncio.sleep(0.05)
        error = record_of(settings).error

        assert len(killed) == 5
        assert error is not None
        assert error.startswith(
            "The Temporal server ended 5 times within 60 s, so it is not started again. Its log is "
        )
        # A lease still holds: its holder has the server started anew, by a fresh supervisor.
        await until(lambda: record_of(settings).state == "ready")
        await Client.connect(server.address)


BAD = [
    (b"this is no database at all" * 1000, "The database is damaged, and Surefoot never deletes it."),
    (b"SQLite format 3\0" + b"\xff" * 40000, "The database is damaged, and Surefoot never deletes it."),
]


@pytest.mark.parametrize(("content", "text"), BAD)
async def test_a_damaged_database_is_reported_and_never_touched(settings: Settings, content: bytes, text: str) -> None:
    database = prepare(settings.home).path / "temporal.db"
    database.write_bytes(content)

    with pytest.raises(EmbeddedServerError) as caught:
        async with lease(settings):
            pytest.fail("not reached")

    assert text in str(caught.value)
    assert f"`sqlite3 {database} .recover`" in str(caught.value)
    assert database.read_bytes() == content
    await until(lambda: not processes_of(settings.home))


LOCK = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


async def test_a_database_locked_by_another_program_is_reported(settings: Settings) -> None:
    async with lease(settings):
        pass
    await until(lambda: not processes_of(settings.home))
    command = [sys.executable, "-c", LOCK, str(settings.home / "temporal.db")]
    locker = start(*command)
    assert locker.stdout is not None
    try:
        assert locker.stdout.readline() == b"locked\n"
        with pytest.raises(
            EmbeddedServerError, match=r"Another program keeps the database .* locked .*: close that program"
        ):
            async with lease(settings):
                pytest.fail("not reached")
    finally:
        locker.communicate(timeout=10)

    async with lease(settings) as server:
        await Client.connect(server.address)
