"""Worker processes for crash tests, the folder that outlives them, and the proof that none is left."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.waiting import until

ROOT = Path(__file__).parents[2]
APP = Path(__file__).parent / "apps" / "steps.py"
SETTINGS = {
    "SUREFOOT_HEARTBEAT_SECONDS": "1",
    "SUREFOOT_RETRY_SECONDS": "0.001",
    "SUREFOOT_STICKY_SECONDS": "0.2",
    "SUREFOOT_SHUTDOWN_SECONDS": "1",
}


class Worker:
    """One `python -m worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @property
    def is_up(self) -> bool:
        return self._process.returncode is None

    async def kill(self) -> None:
        """kill -9: it has no chance to say goodbye."""
        await self._end(signal.SIGKILL)

    async def terminate(self) -> int:
        """Ask it to stop, as a deploy does; its exit code."""
        return await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> int:
        if self._process.returncode is None:
            self._process.send_signal(number)
        return await asyncio.wait_for(self._process.wait(), 20)


class Workers:
    """Starts workers on one task queue of one server; `folder` is what their tools write to."""

    def __init__(self, address: str, queue: str, folder: Path, app: Path = APP) -> None:
        self.queue, self.folder, self._app = queue, folder, app
        self._started: list[Worker] = []
        self._environment = {
            **os.environ,
            **SETTINGS,
            "TEMPORAL_ADDRESS": address,
            "SUREFOOT_ARTIFACTS": str(folder / "artifacts"),
            "CRASH_FOLDER": str(folder),
        }

    async def start(self, **settings: str) -> Worker:
        with (self.folder / "workers.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "worker", "--app", str(self._app), "--task-queue", self.queue,
                cwd=ROOT, env={**self._environment, **settings}, stdin=asyncio.subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        worker = Worker(process)
        self._started.append(worker)
        return worker

    async def end(self) -> None:
        for worker in self._started:
            await worker.kill()

    def alive(self) -> list[str]:
        """Command lines of processes that serve this queue, whoever is their parent."""
        return [line for line in command_lines() if self.queue in line]

    async def said(self, words: str) -> None:
        """Wait until a worker logged this."""

        async def log() -> str:
            return (self.folder / "workers.log").read_text()

        await until(log, lambda text: words in text, seconds=30)

    # --- what the tools leave behind

    def stop(self, point: str, *visits: int) -> None:
        """Let these visits to a point stop there."""
        (self.folder / f"stop-{point}").write_text(",".join(map(str, visits or (1,))))

    def let_go(self, point: str) -> None:
        (self.folder / f"stop-{point}").unlink()

    async def reached(self, point: str, visit: int | None = None) -> None:
        async def seen() -> list[str]:
            assert any(worker.is_up for worker in self._started), (self.folder / "workers.log").read_text()
            file = self.folder / f"reached-{point}"
            return file.read_text().split() if file.exists() else []

        await until(seen, lambda words: len(words) == 2 and visit in (None, int(words[1])), seconds=30)

    def effects(self) -> list[str]:
        return [str(line["what"]) for line in self._lines("effects.jsonl")]

    def keys(self) -> list[str]:
        return [str(line["key"]) for line in self._lines("effects.jsonl")]

    def model_calls(self, agent: str) -> list[object]:
        """The positions in their jobs of all model calls of an agent."""
        return [line["position"] for line in self._lines("models.jsonl") if line["agent"] == agent]

    def _lines(self, name: str) -> Sequence[dict[str, object]]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def command_lines() -> list[str]:
    """Of every process of this machine, where the system tells (Linux)."""
    found: list[str] = []
    if not Path("/proc/self/cmdline").exists():
        return found
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return found
