"""`surefoot …` as people start it: a process of its own, in a place of its own, also at a terminal."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.embedded import processes
from surefoot.embedded.home import Home
from tests.cli.terminal import Terminal

SUREFOOT = Path(sys.executable).with_name("surefoot")
APPS = Path(__file__).with_name("apps")
INHERITED = ("PATH", "HOME", "TMPDIR")


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass
class Place:
    """A folder with an app and a home, and the environment that names both. Nothing else is inherited."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    started: "list[subprocess.Popen[bytes] | Terminal]" = field(default_factory=list)

    @classmethod
    def at(cls, folder: Path, **environment: str) -> "Place":
        shutil.copytree(APPS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return cls(
            folder,
            {
                **inherited,
                "LANG": "C.UTF-8",
                "TERM": "xterm-256color",
                "TEMPORAL_CONFIG_FILE": os.devnull,
                "SUREFOOT_HOME": str(folder / "home"),
                "SUREFOOT_APP": str(folder / "shop.py"),
                "SUREFOOT_IDLE_SECONDS": "1",
                "SUREFOOT_WORKER_IDLE_SECONDS": "1",
                "SUREFOOT_HEARTBEAT_SECONDS": "2",
                "SUREFOOT_SHUTDOWN_SECONDS": "1",
                **environment,
            },
        )

    @property
    def home(self) -> Path:
        return Path(self.environment["SUREFOOT_HOME"])

    def run(self, *arguments: str, input: bytes | None = b"", seconds: float = 60, **environment: str) -> Ended:
        """Run a command to its end; without a terminal, and with `input` on its stdin."""
        done = subprocess.run(
            [SUREFOOT, *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=input,
            capture_output=True,
            timeout=seconds,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a command in the background; its stderr goes to `stderr.log`."""
        with (self.folder / "stderr.log").open("ab") as log:
            process = subprocess.Popen(
                [SUREFOOT, *arguments],
                cwd=self.folder,
                env={**self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.started.append(process)
        return process

    def terminal(self, *arguments: str, columns: int = 100, out: Path | None = None, **environment: str) -> Terminal:
        """Start a command at a terminal of its own; `out` is a file for its stdout."""
        environment = {**self.environment, **environment}
        terminal = Terminal([str(SUREFOOT), *arguments], self.folder, environment, columns, out)
        self.started.append(terminal)
        return terminal

    def done(self) -> list[str]:
        """The writes that ran, by the tools' own log."""
        log = self.folder / "done.log"
        return log.read_text().splitlines() if log.exists() else []

    def processes(self) -> list[int]:
        """Supervisors, servers and workers of this home."""
        return sorted({*processes.find(str(self.home)), *processes.find(Home(self.home).marker)})

    def workers(self) -> list[int]:
        return [pid for pid in processes.find(str(self.home)) if pid in _hosts()]

    def close(self) -> None:
        """End whatever was started and still runs."""
        for one in self.started:
            if isinstance(one, Terminal):
                one.close()
            else:
                one.kill()
                one.communicate(timeout=10)
        for pid in self.processes():
            subprocess.run(["kill", "-9", str(pid)], stderr=subprocess.DEVNULL)
        until(lambda: not self.processes())


def _hosts() -> list[int]:
    return processes.find("surefoot.embedded.host")


def until(true: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Wait for a condition, and fail the test if it doesn't come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not so after {seconds:g} s"
        time.sleep(0.02)
