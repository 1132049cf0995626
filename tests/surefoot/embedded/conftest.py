"""A home of each test's own, and the proof that the test left no process behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from surefoot.embedded import processes
from surefoot.embedded.home import Home
from surefoot.settings import Settings


@pytest.fixture(autouse=True)
def no_temporal_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The developer's own Temporal settings must not decide what these tests do."""
    for name in [name for name in os.environ if name.startswith(("TEMPORAL_", "SUREFOOT_HOME", "SUREFOOT_IDLE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", os.devnull)


def processes_of(home: Path) -> list[int]:
    """Supervisors, servers and workers of a home."""
    return sorted({*processes.find(str(home)), *processes.find(Home(home).marker)})


def sweep(home: Path) -> None:
    """End what a test left, and fail if it doesn't end."""
    for _ in range(100):
        left = processes_of(home)
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    pytest.fail(f"processes {left} of {home} can't be ended")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """An embedded server with a short grace time."""
    yield from settings_at(tmp_path / "home")


def settings_at(home: Path) -> Iterator[Settings]:
    try:
        yield Settings(home=home, app=None, remote=None, task_queue=None, idle_seconds=0.5)
    finally:
        sweep(home)


async def until(true: Callable[[], bool], *, seconds: float = 20.0) -> None:
    """Wait for a condition, and fail the test if it doesn't come."""
    for _ in range(int(seconds / 0.02)):
        if true():
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"not so after {seconds} s")


SCRIPT = """
import asyncio, json, os, signal, sys
from pathlib import Path
from surefoot import embedded
from surefoot.embedded import errors, workers
from surefoot.settings import Settings
remote = {"target_host": "temporal.example:7233"} if os.environ.get("REMOTE") else None
settings = Settings(Path(sys.argv[1]), app=None, remote=remote, task_queue=None, idle_seconds=float(sys.argv[2]))
def say(**words):
    print(json.dumps(words), flush=True)
async def main():
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
%s
asyncio.run(main())
"""


def start(*command: str | Path, cwd: Path | None = None) -> "subprocess.Popen[bytes]":
    """A process with pipes for its input and output; end it with `communicate`."""
    return subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Program:
    """A Python process that runs `body` in `async def main()` and reports by `say(key=value)`."""

    def __init__(self, settings: Settings, body: str) -> None:
        code = SCRIPT % "\n".join(f"    {line}" for line in body.strip().splitlines())
        arguments = [str(settings.home), str(settings.idle_seconds)]
        self.process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)

    async def said(self) -> dict[str, object]:
        """Its next report."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), 30)
        words: dict[str, object] = json.loads(line)
        return words

    async def end(self, number: signal.Signals | None = None) -> int:
        if number is not None:
            self.process.send_signal(number)
        code = await asyncio.to_thread(self.process.wait, 30)
        return code


@pytest.fixture
def program(settings: Settings) -> Iterator[Callable[[str], Program]]:
    """`program(body)` starts another process on this test's home; all of them end with the test."""
    started: list[Program] = []

    def run(body: str) -> Program:
        started.append(Program(settings, body))
        return started[-1]

    yield run
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait(timeout=10)
        if one.process.stdout is not None:
            one.process.stdout.close()
