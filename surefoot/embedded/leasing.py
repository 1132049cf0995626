"""Needing the server: take a lease, and there is one for as long as it is held.

The order is what makes it free of races: first the lease, then the look for a supervisor. Nobody can end
the server between the two, and of two supervisors that start at once one finds the place taken.
"""

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from surefoot.embedded import launch, locks, processes
from surefoot.embedded.errors import EmbeddedServerError, HomeInUse, HomeUnusable
from surefoot.embedded.home import Home, prepare, shown
from surefoot.embedded.pacing import POLL_SECONDS, Steps, drive_async
from surefoot.embedded.record import ServerRecord, read
from surefoot.settings import Settings

if TYPE_CHECKING:
    import asyncio

LEASE_SECONDS = 30.0
START_SECONDS = 90.0
MOST_LAUNCHES = 3
WATCH_SECONDS = 1.0
STOP_SECONDS = 20.0
LONGEST_HOME = 480


class ServerLease:
    """The lease itself, for any kind of waiting: `take`, then `check` about once a second, then `release`."""

    def __init__(self, home: Home, idle_seconds: float) -> None:
        self.home = home
        self._idle_seconds = idle_seconds
        self._lock: locks.Lock | None = None
        self.record: ServerRecord | None = None

    def take(self) -> Steps[ServerRecord]:
        """Take the lease and wait for a server, started if need be. Raises EmbeddedServerError."""
        yield from self.take_lock()
        self.record = yield from self._server()
        return self.record

    def take_lock(self) -> Steps[None]:
        """The lease alone. Waits while a supervisor is on its way out."""
        deadline = time.monotonic() + LEASE_SECONDS
        while (lock := locks.try_shared(self.home.leases)) is None:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"{shown(self.home.leases)} stayed locked for {LEASE_SECONDS:.0f} s: "
                    f"a supervisor hangs while it ends. "
                    f"{self._who()}"
                )
            yield POLL_SECONDS
        self._lock = lock

    def check(self) -> Steps[None]:
        """Have the server back if its supervisor died. Raises EmbeddedServerError if it is gone or has moved."""
        if self._lock is not None and not self._lock.intact():
            raise EmbeddedServerError(
                f"{shown(self.home.path)} was removed while it was in use, and its server ended with it. "
                "The jobs in it are gone; start again."
            )
        before = self.record
        if locks.is_held(self.home.supervisor) or before is None:
            now = read(self.home.record)
            self.record = now if now and now.state == "ready" else before
        else:
            self.record = yield from self._server()
        if before and self.record and before.address != self.record.address:
            raise EmbeddedServerError(
                f"The embedded server moved from {before.address} to {self.record.address}, "
                "since another program took its port. Run the command again: jobs are safe and go on."
            )

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _server(self) -> Steps[ServerRecord]:
        deadline = time.monotonic() + START_SECONDS
        launches = 0
        while True:
            record = read(self.home.record)
            if locks.is_held(self.home.supervisor):
                if record is not None and record.state == "ready":
                    return record
            elif launches and record is not None and record.state == "failed":
                raise _failed(self.home, record.error or f"The server failed; see {shown(self.home.log)}.")
            elif launches == MOST_LAUNCHES:
                raise _failed(
                    self.home, f"The server's supervisor ended {launches} times without a word. {self._log_end()}"
                )
            else:
                launches += 1
                yield from self._launch()
            if time.monotonic() > deadline:
                raise EmbeddedServerError(f"No server after {START_SECONDS:.0f} s. {self._who()}")
            yield POLL_SECONDS

    def _launch(self) -> Steps[None]:
        """Start a supervisor, and wait until it has the home or found it taken."""
        process = start_supervisor(self.home, self._idle_seconds)
        code = yield from launch.placed(process, LEASE_SECONDS)
        if code not in (launch.LAUNCHED, launch.TAKEN):
            raise _failed(self.home, f"The server's supervisor could not start (exit code {code}). {self._log_end()}")

    def _log_end(self) -> str:
        with suppress(OSError):
            lines = self.home.log.read_text(errors="replace").splitlines()
            return f"{shown(self.home.log)} ends with: " + "\n".join(lines[-3:])
        return ""

    def _who(self) -> str:
        record = read(self.home.record)
        who = f"process {record.supervisor}" if record else "unknown process"
        return f"Its supervisor is {who}; its log is {shown(self.home.log)}. End that process and try again."


class Lease:
    """A server that stays while this is held. `address` is host:port; `ui` the Temporal UI, if it is on."""

    def __init__(self, record: ServerRecord, watch: "asyncio.Task[NoReturn]") -> None:
        self.address = record.address
        self.ui = record.ui
        self.version = record.version
        self._watch = watch

    async def lost(self) -> NoReturn:
        """Never returns; raises EmbeddedServerError once the server can't be had at this address any more."""
        import asyncio

        await asyncio.shield(self._watch)
        raise AssertionError("the watch of a lease never returns")


@asynccontextmanager
async def lease(settings: Settings) -> AsyncIterator[Lease]:
    """A lease of the embedded server, which is started if it isn't there. Raises EmbeddedServerError."""
    held = ServerLease(open_home(settings), settings.idle_seconds)
    try:
        await drive_async(held.take())
        async with _watched(held) as watched:
            yield watched
    finally:
        held.release()


@asynccontextmanager
async def serve_foreground(settings: Settings, *, ui: bool = False) -> AsyncIterator[Lease]:
    """The embedded server for `surefoot dev`: it ends with this block, and with this process.

    A server that already runs in the background is used as it is. Raises HomeInUse if another
    foreground process serves this home.
    """
    held = ServerLease(open_home(settings), settings.idle_seconds)
    process: subprocess.Popen[bytes] | None = None
    try:
        await drive_async(held.take_lock())
        if not locks.is_held(held.home.supervisor):
            process = start_supervisor(held.home, settings.idle_seconds, owner=os.getpid(), ui=ui)
        held.record = await drive_async(_served(held, process))
        async with _watched(held) as watched:
            yield watched
    finally:
        held.release()
        if process is not None:
            await drive_async(processes.end_child(process, patience=STOP_SECONDS))


def open_home(settings: Settings) -> Home:
    """The home, made and fit for an embedded server. Raises EmbeddedServerError."""
    if sys.platform == "win32":
        raise EmbeddedServerError(
            "The embedded server needs Linux or macOS. On Windows run one yourself and say where it is: "
            "`winget install Temporal.TemporalCLI`, `temporal server start-dev --db-filename temporal.db`, "
            "`set TEMPORAL_ADDRESS=localhost:7233`. Or use WSL."
        )
    length = len(os.fsencode(os.path.realpath(settings.home)))
    if length > LONGEST_HOME:
        raise HomeUnusable(
            f"SUREFOOT_HOME is {length} bytes long, and SQLite takes paths of about {LONGEST_HOME}: "
            f"set it to a shorter one. It is {shown(settings.home)}"
        )
    return prepare(settings.home)


def start_supervisor(
    home: Home, idle_seconds: float, *, owner: int | None = None, ui: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a supervisor: one that serves `owner`, our own process, or a background one."""
    options = ["--home", str(home.path), "--idle-seconds", str(idle_seconds)]
    options += ["--owner", str(owner)] if owner is not None else []
    return launch.start("surefoot.embedded", *options, *(["--ui"] if ui else []), log=home.log)


def _failed(home: Home, text: str) -> EmbeddedServerError:
    """Why there is no server: the home, if that can't be written to, else what `text` says."""
    return home.unwritable() or EmbeddedServerError(text)


def _served(held: ServerLease, process: "subprocess.Popen[bytes] | None") -> Steps[ServerRecord]:
    """Wait until our foreground supervisor serves, or find out who else does."""
    deadline = time.monotonic() + START_SECONDS
    while process is not None and process.poll() is None:
        record = read(held.home.record)
        if record is not None and record.supervisor == process.pid and record.state == "ready":
            return record
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"No server after {START_SECONDS:.0f} s; see {shown(held.home.log)}.")
        yield POLL_SECONDS
    record = read(held.home.record)
    if process is not None and process.returncode != launch.TAKEN:
        error = record.error if record and record.supervisor == process.pid else None
        raise _failed(held.home, error or f"The server's supervisor ended; see {shown(held.home.log)}.")
    if record is not None and record.owner is not None and locks.is_held(held.home.supervisor):
        raise HomeInUse(
            f"Process {record.owner} already serves {shown(held.home.path)}. "
            "Other commands just use it; to run a second one, set SUREFOOT_HOME to another folder.",
            record.owner,
        )
    return (yield from held._server())


@asynccontextmanager
async def _watched(held: ServerLease) -> AsyncIterator[Lease]:
    """The lease with a task that looks after it."""
    import asyncio

    assert held.record is not None, "a lease is watched once it is taken"
    watch = asyncio.create_task(_keep(held), name="surefoot-lease")
    try:
        yield Lease(held.record, watch)
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def _keep(held: ServerLease) -> NoReturn:
    import asyncio

    while True:
        await asyncio.sleep(WATCH_SECONDS)
        await drive_async(held.check())
