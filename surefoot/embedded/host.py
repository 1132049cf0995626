"""`python -m surefoot.embedded.host`: the process around a worker of one machine. Started by `workers`.

worker.py knows Temporal's own settings and nothing else. What it takes to be a good local process stands
here: it keeps its place locked, holds a lease of the server, and ends with the process it works for.
"""

import argparse
import logging
import os
import runpy
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from surefoot.embedded import locks, worker_record
from surefoot.embedded.errors import EmbeddedServerError
from surefoot.embedded.home import Home, bound_log
from surefoot.embedded.launch import TAKEN, detach
from surefoot.embedded.leasing import ServerLease
from surefoot.embedded.pacing import drive
from surefoot.embedded.worker_record import WorkerRecord, app_version
from surefoot.settings import EMBEDDED_NAMESPACE

NO_SERVER = 5
WATCH_SECONDS = 1.0
GRACE_SECONDS = 15.0


def main() -> int:
    options = _options()
    home = Home(options.home)
    place = home.worker(options.queue, detached=options.owner is None)
    lock = locks.hold(place.lock)
    if lock is None:
        return TAKEN
    app = app_version(options.app)
    started = datetime.now(UTC).isoformat(timespec="seconds")

    def announce(pid: int) -> None:
        worker_record.write(
            place.record, WorkerRecord(pid, options.queue, app, str(options.log), started, options.lasting)
        )

    if options.owner is None:
        detach(announce)
    else:
        announce(os.getpid())
    lease = None
    if options.embedded:
        try:
            lease = _lease(home, options.idle_seconds)
        except EmbeddedServerError as problem:
            sys.stderr.write(f"{problem}\n")
            return NO_SERVER
    threading.Thread(
        target=_watch, args=(options.owner, lease, options.log), daemon=True, name="surefoot-watch"
    ).start()
    sys.argv = ["worker", "--app", str(options.app), "--task-queue", options.queue]
    runpy.run_module("worker", run_name="__main__", alter_sys=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m surefoot.embedded.host")
    parser.add_argument("marker", help="known to whoever looks for this process")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--app", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--owner", type=int, help="end with this parent process; detach if not given")
    parser.add_argument("--lasting", action="store_true", help="that process stays until somebody ends it")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--idle-seconds", type=float, default=0.0)
    return parser.parse_args()


def _lease(home: Home, idle_seconds: float) -> ServerLease:
    """A lease of the embedded server, whose address becomes the only Temporal setting of this process."""
    lease = ServerLease(home, idle_seconds)
    record = drive(lease.take())
    for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
        del os.environ[name]
    os.environ["TEMPORAL_ADDRESS"] = record.address
    os.environ["TEMPORAL_NAMESPACE"] = EMBEDDED_NAMESPACE
    os.environ["TEMPORAL_CONFIG_FILE"] = os.devnull  # or a default profile would add its TLS and keys
    return lease


def _watch(owner: int | None, lease: ServerLease | None, log: Path) -> None:
    """End this process once it works for nobody, or its server is gone."""
    while (reason := _reason_to_end(owner, lease)) is None:
        time.sleep(WATCH_SECONDS)
        bound_log(log)
    # Not by `sys.stderr`, which a tool may have closed.
    logging.getLogger("surefoot.worker").warning("process %s ends: %s", os.getpid(), reason)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)  # with whatever its tools have started


def _reason_to_end(owner: int | None, lease: ServerLease | None) -> str | None:
    if owner is not None and os.getppid() != owner:
        return f"the process {owner} that started it has ended"
    if lease is not None:
        try:
            drive(lease.check())
        except EmbeddedServerError as problem:
            return str(problem)
    return None


if __name__ == "__main__":
    sys.exit(main())
