"""The folder SUREFOOT_HOME: what lies where in it, and its making.

The server's working directory is this folder and it is given the database's bare name, because SQLite
reads `?`, `#` and `%` in a path as parts of a URI and would put the database somewhere else.
"""

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from urllib.parse import quote

from surefoot.embedded.errors import HomeUnusable
from surefoot.embedded.locks import unusable

DATABASE = "temporal.db"
LOG_LIMIT = 5_000_000
PROBE_BYTES = 1_000_000


@dataclass(frozen=True)
class Home:
    """Paths below SUREFOOT_HOME. `path` is absolute."""

    path: Path

    @property
    def leases(self) -> Path:
        """Locked, shared, by every process that needs the server."""
        return self.path / "leases.lock"

    @property
    def supervisor(self) -> Path:
        """Locked by the supervisor for as long as it lives."""
        return self.path / "server.lock"

    @property
    def record(self) -> Path:
        return self.path / "server.json"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    @property
    def marker(self) -> str:
        """An argument on the server's command line by which it is known as the one of this home.

        The server ignores settings that it doesn't know. Plain ASCII, whatever the path holds.
        """
        return f"surefoot.home={json.dumps(os.path.realpath(self.path))}"

    def unwritable(self) -> HomeUnusable | None:
        """What keeps files from being written here, if anything does.

        Ask it when a process of this home failed: on a full disk it can't leave a word of why, in its log or elsewhere.
        """
        probe = self.path / f"probe.{os.getpid()}"
        try:
            probe.write_bytes(os.urandom(PROBE_BYTES))
        except OSError as problem:
            return unusable(self.path, problem)
        finally:
            with suppress(OSError):
                probe.unlink()
        return None

    def worker(self, queue: str, *, detached: bool) -> "WorkerPlace":
        name = quote(queue, safe=" ")
        if len(name) > 100:
            name = f"{name[:80]}-{hashlib.sha256(queue.encode()).hexdigest()[:16]}"
        return WorkerPlace(self.path, f"{name}{'.detached' if detached else ''}")

    def spawning(self, queue: str) -> Path:
        """Locked by whoever looks for a worker of this queue and perhaps starts one."""
        return self.worker(queue, detached=False).lock.with_suffix(".spawning")

    def workers(self, queue: str) -> "list[WorkerPlace]":
        """Where workers of this queue may be: one that ends with a command, and one that outlives it."""
        return [self.worker(queue, detached=False), self.worker(queue, detached=True)]


@dataclass(frozen=True)
class WorkerPlace:
    """The files of the one worker that may be here. The worker keeps `lock` locked."""

    home: Path
    name: str

    @property
    def lock(self) -> Path:
        return self.home / "workers" / f"{self.name}.lock"

    @property
    def record(self) -> Path:
        return self.home / "workers" / f"{self.name}.json"

    @property
    def marker(self) -> str:
        """An argument of the worker's command line, by which it is known."""
        return f"surefoot.worker={json.dumps(os.path.realpath(self.lock))}"

    def new_log(self, stamp: str) -> Path:
        return self.home / "logs" / f"worker-{self.name}-{stamp}.log"

    def logs(self) -> list[Path]:
        """Oldest first."""
        return sorted((self.home / "logs").glob(f"worker-{escape(self.name)}-[0-9]*.log"))


def prepare(path: Path) -> Home:
    """The home at `path`, made if it isn't there. Raises HomeUnusable."""
    home = Home(path)
    try:
        # Jobs' inputs and results lie here: nobody else's business.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(path.iterdir()):
            # Never in a folder that holds other things: they would vanish from version control.
            (path / ".gitignore").write_text("*\n")
        for folder in ("workers", "logs"):
            (path / folder).mkdir(exist_ok=True)
    except OSError as problem:
        raise unusable(path, problem) from problem
    return home


def replace_text(path: Path, text: str) -> None:
    """Replace the file in one step: a reader sees the old or the new, never half."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(text)
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def shown(path: Path) -> str:
    """The path as it can be printed, also when its bytes are no text."""
    return os.fsencode(path).decode(errors="backslashreplace")


def bound_log(path: Path, limit: int = LOG_LIMIT) -> None:
    """Put a log that outgrew `limit` bytes aside as `….1`. Its writers append, so it can be emptied under them.

    What can't be put aside, as on a full disk, is lost: whoever looks after the log must not end by it.
    """
    with suppress(OSError):
        if path.stat().st_size > limit:
            with suppress(OSError):
                shutil.copyfile(path, path.with_name(path.name + ".1"))
            os.truncate(path, 0)
