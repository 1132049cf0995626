"""Workers as processes: one for a queue, with the present code, and gone when nobody needs it.

The worker here is a stand-in that says what it was given and then waits; the real one has tests of its own.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.client import Client

from surefoot.embedded import locks, processes, workers
from surefoot.embedded.errors import WorkerFailed
from surefoot.embedded.home import Home, prepare
from surefoot.embedded.pacing import drive_async
from surefoot.settings import Settings
from tests.surefoot.embedded.conftest import Program, processes_of, start, until

QUEUE = "surefoot-app-123456"

STAND_IN = """
import json, os, signal, sys, threading
app = sys.argv[sys.argv.index("--app") + 1]
exec(open(app).read())
names = sorted(name for name in os.environ if name.startswith(("TEMPORAL", "SUREFOOT_HOME", "SUREFOOT_WORKER")))
with open(app + ".said", "a") as said:
    words = {"pid": os.getpid(), "arguments": sys.argv, "environment": {name: os.environ[name] for name in names}}
    said.write(json.dumps(words) + "\\n")
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
while not stop.wait(0.05):
    pass
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An app file, and a worker module that takes the real one's place."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "worker.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    app = tmp_path / "app with blank.py"
    app.write_text("pass")
    return app


@pytest.fixture
def remote(settings: Settings) -> Settings:
    """With a remote server no embedded one is started, which keeps most of these tests quick."""
    return replace(settings, remote={"target_host": "temporal.example:7233"})


def change(app: Path, code: str) -> None:
    app.write_text(code)


async def said(app: Path, count: int = 1) -> dict[str, object]:
    """What the worker that started last, the `count`-th, was given."""
    file = app.with_name(app.name + ".said")
    await until(lambda: file.exists() and len(file.read_text().splitlines()) >= count)
    words: dict[str, object] = json.loads(file.read_text().splitlines()[count - 1])
    return words


async def test_a_worker_serves_the_app_and_queue_it_was_given_until_it_is_stopped(remote: Settings, app: Path) -> None:
    assert not workers.alive(remote, QUEUE)
    worker = await workers.spawn(remote, app, QUEUE, detached=False)

    assert workers.alive(remote, QUEUE)
    assert not workers.alive(remote, "another")
    assert worker.process is not None
    words = await said(app)
    assert words["pid"] == worker.pid
    assert words["arguments"] == [str(app.with_name("modules") / "worker.py"), "--app", str(app), "--task-queue", QUEUE]
    assert words["environment"] == {"SUREFOOT_HOME": str(remote.home), "TEMPORAL_CONFIG_FILE": os.devnull}

    await worker.stop()
    assert worker.process.returncode == 0
    assert not workers.alive(remote, QUEUE)
    assert processes_of(remote.home) == []


@pytest.mark.server
async def test_with_the_embedded_server_its_address_is_the_workers_only_temporal_setting(
    settings: Settings, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_TLS", "true")
    monkeypatch.setenv("TEMPORAL_PROFILE", "work")
    worker = await workers.spawn(settings, app, QUEUE, detached=False)
    environment = (await said(app))["environment"]

    assert isinstance(environment, dict)
    await Client.connect(environment["TEMPORAL_ADDRESS"])
    assert {name: value for name, value in environment.items() if name != "TEMPORAL_ADDRESS"} == {
        "SUREFOOT_HOME": str(settings.home),
        "TEMPORAL_CONFIG_FILE": os.devnull,
        "TEMPORAL_NAMESPACE": "default",
    }
    assert locks.try_exclusive(Home(settings.home).leases) is None
    await worker.stop()
    await until(lambda: not processes_of(settings.home))


@pytest.mark.server
@pytest.mark.crash
async def test_a_worker_brings_the_server_back_whose_supervisor_was_killed(settings: Settings, app: Path) -> None:
    worker = await workers.spawn(settings, app, QUEUE, detached=False)
    await said(app)
    record = settings.home / "server.json"
    victim = json.loads(record.read_text())["supervisor"]
    os.kill(victim, signal.SIGKILL)

    await until(lambda: json.loads(record.read_text())["supervisor"] != victim)
    await until(lambda: json.loads(record.read_text())["state"] == "ready")
    await worker.stop()


SPAWN = """
worker = await workers.spawn(settings, Path(os.environ["APP"]), "%s", detached=%s, worker_idle_seconds=7)
say(pid=worker.pid, ours=worker.process is not None)
await stop.wait()
await worker.stop()
"""


@pytest.mark.crash
@pytest.mark.server
async def test_a_worker_ends_with_the_command_that_started_it_even_if_that_is_killed(
    settings: Settings, app: Path, program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP", str(app))
    command = program(SPAWN % (QUEUE, False))
    await command.said()
    await said(app)
    command.process.kill()
    await command.end()

    await until(lambda: not workers.alive(settings, QUEUE))
    await until(lambda: not processes_of(settings.home))


@pytest.mark.crash
@pytest.mark.server
async def test_a_detached_worker_outlives_its_command_and_is_found_by_the_next(
    settings: Settings, app: Path, program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP", str(app))
    command = program(SPAWN % (QUEUE, True))
    pid = (await command.said())["pid"]
    environment = (await said(app))["environment"]
    command.process.kill()
    await command.end()
    again = await workers.spawn(settings, app, QUEUE, detached=True)
    attached = await workers.spawn(settings, app, QUEUE, detached=False)

    assert isinstance(environment, dict)
    assert environment["SUREFOOT_WORKER_IDLE_SECONDS"] == "7"
    assert (again.pid, attached.pid) == (pid, pid)
    assert attached.process is None
    assert os.getsid(again.pid) == again.pid
    assert os.getppid() != os.getpid()
    assert await workers.stop(settings, QUEUE)
    assert not workers.alive(settings, QUEUE)
    assert not await workers.stop(settings, QUEUE)


async def test_a_detached_worker_is_started_beside_one_that_will_end_with_its_command(
    remote: Settings, app: Path
) -> None:
    attached = await workers.spawn(remote, app, QUEUE, detached=False)
    detached = await workers.spawn(remote, app, QUEUE, detached=True)

    assert attached.pid != detached.pid
    await attached.stop()
    assert workers.alive(remote, QUEUE)
    assert await workers.stop(remote, QUEUE)


async def test_none_is_started_beside_the_worker_of_a_command_that_is_there_to_stay(
    remote: Settings, app: Path
) -> None:
    async with workers.serve(remote, app, QUEUE, lasting=True) as hosting:
        detached = await workers.spawn(remote, app, QUEUE, detached=True)
        followed = await workers.spawn(remote, app, QUEUE, detached=False)

        assert [detached.pid, followed.pid] == [hosting.worker.pid] * 2
        assert len(processes_of(remote.home)) == 1
    assert processes_of(remote.home) == []


@pytest.mark.parametrize("detached", [True, False])
async def test_a_command_that_stays_starts_the_worker_with_the_new_code_itself(
    remote: Settings, app: Path, detached: bool
) -> None:
    async with workers.serve(remote, app, QUEUE, lasting=True) as hosting:
        await said(app, 1)
        old = hosting.worker.pid
        change(app, "'changed'")
        found = await workers.spawn(remote, app, QUEUE, detached=detached)
        await until(lambda: hosting.worker.pid != old)

        assert (found.pid, found.process) == (hosting.worker.pid, None)
        assert hosting.worker.process is not None
        assert len(processes_of(remote.home)) == 1
    assert processes_of(remote.home) == []


@pytest.mark.parametrize("detached", [True, False])
async def test_workers_with_an_older_app_file_are_replaced(remote: Settings, app: Path, detached: bool) -> None:
    old = await workers.spawn(remote, app, QUEUE, detached=detached)
    await said(app, 1)
    os.utime(app, (1, 1))
    same = await workers.spawn(remote, app, QUEUE, detached=detached)
    change(app, "'changed'")
    new = await workers.spawn(remote, app, QUEUE, detached=detached)
    words = await said(app, 2)

    assert same.pid == old.pid
    assert words["pid"] == new.pid != old.pid
    await until(lambda: len(processes_of(remote.home)) == 1)
    await new.stop()
    await old.stop()
    await workers.stop(remote, QUEUE)


async def test_a_worker_without_a_readable_record_is_replaced(remote: Settings, app: Path) -> None:
    old = await workers.spawn(remote, app, QUEUE, detached=True)
    Home(remote.home).worker(QUEUE, detached=True).record.write_text("{")
    new = await workers.spawn(remote, app, QUEUE, detached=True)

    assert new.pid != old.pid
    await workers.stop(remote, QUEUE)


@pytest.mark.crash
@pytest.mark.parametrize("detached", [True, False])
async def test_commands_at_the_same_moment_start_one_worker(
    remote: Settings, app: Path, program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch, detached: bool
) -> None:
    monkeypatch.setenv("APP", str(app))
    monkeypatch.setenv("REMOTE", "yes")
    commands = [program(SPAWN % (QUEUE, detached)) for _ in range(3)]
    pids = {(await command.said())["pid"] for command in commands}

    assert len(pids) == 1
    await said(app)
    assert len(processes.find(Home(remote.home).worker(QUEUE, detached=detached).marker)) == 1
    await workers.stop(remote, QUEUE)


@pytest.mark.crash
async def test_a_killed_worker_is_started_again_while_its_queue_is_to_be_served(remote: Settings, app: Path) -> None:
    async with workers.serve(remote, app, QUEUE) as hosting:
        first = hosting.worker.pid
        await said(app, 1)
        os.kill(first, signal.SIGKILL)
        words = await said(app, 2)
        await until(lambda: hosting.worker.pid == words["pid"])

        assert hosting.worker.pid != first
    assert processes_of(remote.home) == []


@pytest.mark.crash
async def test_somebody_elses_worker_is_replaced_by_ours_when_it_goes(remote: Settings, app: Path) -> None:
    theirs = await workers.spawn(remote, app, QUEUE, detached=False)
    async with workers.serve(remote, app, QUEUE) as hosting:
        assert hosting.worker.pid == theirs.pid
        await said(app, 1)
        await theirs.stop()
        await said(app, 2)
        await until(lambda: hosting.worker.process is not None)

        assert workers.alive(remote, QUEUE)
    assert not workers.alive(remote, QUEUE)


async def test_an_app_that_does_not_load_ends_the_wait_with_the_end_of_its_log(remote: Settings, app: Path) -> None:
    change(app, "import nowhere_to_be_found")
    async with workers.serve(remote, app, QUEUE) as hosting:
        with pytest.raises(WorkerFailed) as caught:
            await asyncio.wait_for(hosting.lost(), 20)

    assert f"The worker of queue '{QUEUE}' ended by itself (exit code 1)." in str(caught.value)
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in str(caught.value)
    assert str(hosting.worker.log) in str(caught.value)


@pytest.mark.crash
async def test_a_worker_that_is_killed_again_and_again_is_given_up(remote: Settings, app: Path) -> None:
    change(app, "import os; os.kill(os.getpid(), 9)")
    async with workers.serve(remote, app, QUEUE) as hosting:
        with pytest.raises(WorkerFailed, match=r"ended again and again \(exit code -9\)"):
            await asyncio.wait_for(hosting.lost(), 30)


async def test_a_missing_app_file_is_named(remote: Settings, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match=r"gone\.py does not exist. Give its path with --app or SUREFOOT_APP"):
        await workers.spawn(remote, tmp_path / "gone.py", QUEUE, detached=False)


@pytest.mark.server
async def test_a_worker_that_can_not_have_its_server_says_why(settings: Settings, app: Path) -> None:
    (prepare(settings.home).path / "temporal.db").write_bytes(b"no database" * 1000)
    async with workers.serve(settings, app, QUEUE) as hosting:
        with pytest.raises(WorkerFailed, match="The database is damaged, and Surefoot never deletes it"):
            await asyncio.wait_for(hosting.lost(), 30)


async def test_a_cancelled_start_leaves_no_worker(remote: Settings, app: Path) -> None:
    for detached in (False, True):
        starting = asyncio.create_task(workers.spawn(remote, app, QUEUE, detached=detached))
        await until(lambda: bool(processes_of(remote.home)))
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await workers.stop(remote, QUEUE)

        assert processes_of(remote.home) == []


async def test_a_child_that_will_not_end_is_killed_with_its_children() -> None:
    stubborn = (
        "import os, signal, subprocess, sys, time; os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(child.pid, flush=True);"
        "time.sleep(60)"
    )
    process = start(sys.executable, "-c", stubborn)
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())

    began = time.monotonic()
    assert await drive_async(processes.end_child(process, patience=0.3)) == -signal.SIGKILL
    assert 0.3 <= time.monotonic() - began < 5
    assert process.stdout.read() == b""  # at its end once the grandchild is gone too
    assert grandchild != process.pid
    process.communicate()


async def test_old_logs_are_removed(remote: Settings, app: Path) -> None:
    logs = prepare(remote.home).path / "logs"
    for day in range(1, 31):
        (logs / f"worker-{QUEUE}-202501{day:02}T000000.000000.log").touch()
    (logs / f"worker-{QUEUE}.detached-20250101T000000.000000.log").touch()
    worker = await workers.spawn(remote, app, QUEUE, detached=False)

    kept = sorted(path.name for path in logs.iterdir())
    assert len(kept) == 20 + 1
    assert worker.log.name in kept
    assert f"worker-{QUEUE}-20250111T000000.000000.log" not in kept
    assert f"worker-{QUEUE}-20250112T000000.000000.log" in kept
    await worker.stop()
