"""The process that owns the server of one home: starts it, starts it again, ends it when nobody needs it.

It ends only while it holds the leases' lock alone, and keeps that lock until the server is gone. So a
newcomer, who takes a lease before it looks for a supervisor, finds either a server that stays or none.
"""

import os
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version

from surefoot.embedded import locks, processes
from surefoot.embedded.command import command_version, find_command
from surefoot.embedded.errors import EmbeddedServerError
from surefoot.embedded.home import Home, bound_log, shown
from surefoot.embedded.pacing import POLL_SECONDS, drive
from surefoot.embedded.record import ServerRecord, State, read, write
from surefoot.embedded.server import PORT_TAKEN, Server, free_ports
from surefoot.embedded.wakeup import Wakeup

TICK_SECONDS = 1.0
READY_SECONDS = 60.0
MOST_STARTS = 5
STARTS_WINDOW = 60.0
ORPHAN_SECONDS = 10.0


class Stop(Exception):
    """The supervisor is to end; the message says why."""


class Supervisor:
    """`lock` is the home's supervisor lock, already held. `owner` is the process that this one ends with, if any."""

    def __init__(self, home: Home, lock: locks.Lock, *, owner: int | None, ui: bool, idle_seconds: float) -> None:
        self._home = home
        self._lock = lock
        self._owner = owner
        self._ui = ui
        self._idle_seconds = idle_seconds
        self._last_used = time.monotonic()
        self._leases: locks.Lock | None = None
        self._starts: deque[float] = deque(maxlen=MOST_STARTS)
        self._server: Server | None = None
        before = read(home.record)
        self._record = ServerRecord(
            state="starting",
            supervisor=os.getpid(),
            owner=owner,
            port=before.port if before else None,  # whoever still follows the old address finds the server again
            ui_port=before.ui_port if before else None,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def announce(self, pid: int) -> None:
        """Write the record anew, so that nobody takes a predecessor's for ours."""
        write(self._home.record, replace(self._record, supervisor=pid))

    def run(self) -> int:
        """Serve until there is a reason to end. 0, or 1 if the server could not be had."""
        self._record = replace(self._record, supervisor=os.getpid())
        self._wakeup = Wakeup()
        try:
            drive(processes.end(self._home.marker, patience=ORPHAN_SECONDS))
            while True:
                self._keep_server()
                self._pause(TICK_SECONDS)
                bound_log(self._home.log)
        except Stop as reason:
            self._log(f"ends: {reason}")
            self._finish("stopped")
            return 0
        except Exception as problem:
            self._log(f"gives up: {problem}")
            self._finish("failed", problem)
            return 1

    def _keep_server(self) -> None:
        """Start the server if it is not there, and again if it died, until it is ready."""
        while self._server is None or self._server.process.poll() is not None:
            self._note_start()
            server = self._start()
            if self._becomes_ready(server):
                self._publish("ready", server=server.process.pid)

    def _note_start(self) -> None:
        now = time.monotonic()
        if len(self._starts) == MOST_STARTS and now - self._starts[0] < STARTS_WINDOW:
            raise EmbeddedServerError(
                f"The Temporal server ended {MOST_STARTS} times within {STARTS_WINDOW:.0f} s, "
                f"so it is not started again. Its log is {shown(self._home.log)}."
            )
        if self._starts:
            self._publish("restarting", server=None)
        self._starts.append(now)

    def _start(self) -> Server:
        port, ui_port = free_ports([self._record.port, self._record.ui_port])
        self._publish(self._record.state, port=port, ui_port=ui_port if self._ui else None)
        command = find_command()
        self._server = Server(command, self._home, port, ui_port if self._ui else None)
        self._log(f"started server {self._server.process.pid} at {self._server.address}")
        self._publish(self._record.state, version=command_version(command))
        return self._server

    def _becomes_ready(self, server: Server) -> bool:
        """Wait for it. False if it died of something that another start may cure; any other end is an error."""
        deadline = time.monotonic() + READY_SECONDS
        while not server.ready():
            code = server.process.poll()
            if code is not None and (code < 0 or PORT_TAKEN in server.output()):
                return False
            if code is not None:
                raise server.why_it_ended()
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"The Temporal server was not ready after {READY_SECONDS:.0f} s. "
                    f"See {shown(self._home.log)}; is the machine very busy?"
                )
            self._pause(POLL_SECONDS)
        return True

    def _pause(self, seconds: float) -> None:
        """Wait, or less if a signal comes or the server ends. Raises Stop when there is a reason to end."""
        if self._wakeup.wait(seconds):
            raise Stop("it was asked to")
        if not self._lock.intact():
            raise Stop("its folder was removed")
        if self._owner is not None:
            if os.getppid() != self._owner:
                raise Stop(f"the process {self._owner} that it served has ended")
        elif self._record.state == "ready" and self._idle():
            raise Stop(f"nobody used it for {self._idle_seconds:g} s")

    def _idle(self) -> bool:
        """Has nobody held a lease for long enough? Then the leases' lock is kept."""
        lock = locks.try_exclusive(self._home.leases)
        now = time.monotonic()
        if lock is None:
            self._last_used = now
        elif now - self._last_used >= self._idle_seconds:
            self._leases = lock
            return True
        else:
            lock.release()
        return False

    def _finish(self, state: State, problem: Exception | None = None) -> None:
        with suppress(OSError):  # the folder may be gone, or the disk full
            self._publish("stopping", server=self._record.server)
        if self._server is not None:
            drive(processes.end_child(self._server.process))
        with suppress(OSError):
            self._publish(state, server=None, error=str(problem) if problem else None)
        self._lock.release()
        if self._leases is not None:
            self._leases.release()

    def _publish(self, state: State, **changes: object) -> None:
        self._record = replace(self._record, state=state, **changes)  # type: ignore[arg-type]
        write(self._home.record, self._record)

    def _log(self, text: str) -> None:
        """Beside the server's own lines; standard error is the log, or gone with the folder."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        with suppress(OSError):
            sys.stderr.write(f"{stamp} surefoot {version('surefoot')} supervisor {os.getpid()}: {text}\n")
            sys.stderr.flush()
