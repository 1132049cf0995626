"""A worker process of this machine: found or started, and ended when its app has changed.

A queue has two places: one for a worker that ends with the command that started it, one for a detached worker that
outlives it. The newest code wins: a worker of either kind that loaded an older app file is asked to end; running steps
are then retried by its successor, as after any deploy. Beside the worker of a command that is there to stay
(`surefoot dev`) none is started: it would do the same steps with another environment.
"""

import os
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from activities.seconds import WORKER_IDLE
from surefoot.embedded import launch, locks, processes
from surefoot.embedded.errors import WorkerFailed
from surefoot.embedded.home import Home, WorkerPlace, prepare, shown
from surefoot.embedded.pacing import POLL_SECONDS, Steps, drive_async
from surefoot.embedded.worker_record import WorkerRecord, read
from surefoot.errors import SurefootError
from surefoot.settings import Settings

START_SECONDS = 30.0
SPAWN_SECONDS = 60.0
RENEWAL_SECONDS = 5.0
"""How long a command may take to notice that its worker was ended, and to start another."""

LOGS_KEPT = 20


@dataclass(frozen=True)
class Worker:
    """A worker that is up. `process` is None if it isn't our child, and then it doesn't end with us."""

    pid: int
    queue: str
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    async def stop(self) -> None:
        """End it if it is ours: asked first, killed with its process group if it does not."""
        if self.process is not None:
            await drive_async(processes.end_child(self.process))


@dataclass(frozen=True)
class Wanted:
    """What kind of worker is wanted: see `workers.spawn`."""

    queue: str
    detached: bool
    lasting: bool = False
    idle_seconds: float | None = None

    def takes(self, record: WorkerRecord, detached: bool) -> bool:
        """Whether a worker that is up will do: one that may end before us, or before our job, will not."""
        return detached or record.lasting or not self.detached


def spawned(settings: Settings, app: Path, wanted: Wanted) -> Steps[Worker]:
    """A worker that is up and does for what is wanted, else a new one. Raises WorkerFailed and HomeUnusable."""
    app = Path(os.path.abspath(app))
    home, queue = prepare(settings.home), wanted.queue
    if not app.is_file():
        raise WorkerFailed(f"The app file {shown(app)} does not exist. Give its path with --app or SUREFOOT_APP.")
    waits = True
    while True:
        with (yield from _turn(home, queue)):
            running, renewed = yield from _up_to_date(home, app, queue)
            found = next((record for record, detached in running if wanted.takes(record, detached)), None)
            if found is not None:
                return Worker(found.pid, queue, Path(found.log))
            if not (renewed and waits):
                return (yield from _start(settings, home.worker(queue, detached=wanted.detached), app, wanted))
        yield from _renewal(home.worker(queue, detached=False))
        waits = False


def _turn(home: Home, queue: str) -> Steps[locks.Lock]:
    """To be the only one who looks for a worker of this queue and perhaps starts one."""
    deadline = time.monotonic() + SPAWN_SECONDS
    while (turn := locks.try_exclusive(home.spawning(queue))) is None:
        if time.monotonic() > deadline:
            raise WorkerFailed(
                f"Another command has been starting a worker of queue {queue!r} for {SPAWN_SECONDS:.0f} s; try again."
            )
        yield POLL_SECONDS
    return turn


def _up_to_date(home: Home, app: Path, queue: str) -> Steps[tuple[list[tuple[WorkerRecord, bool]], bool]]:
    """The workers that are up, each with whether it is detached; those with older code are ended first.

    And whether one of these was a lasting one, so that the command which it belonged to starts another.
    """
    running, renewed = [], False
    for place, detached in zip(home.workers(queue), (False, True), strict=True):
        if not locks.is_held(place.lock):
            continue
        record = read(place.record)
        if record is not None and record.serves(app):
            running.append((record, detached))
        else:
            renewed = renewed or (record is not None and record.lasting)
            yield from end(place)
    return running, renewed


def _renewal(place: WorkerPlace) -> Steps[None]:
    """Give the command whose worker was ended the time to start another: with its own environment, not with ours."""
    deadline = time.monotonic() + RENEWAL_SECONDS
    while not locks.is_held(place.lock) and time.monotonic() < deadline:
        yield POLL_SECONDS


def end(place: WorkerPlace) -> Steps[None]:
    """End the worker of this place, and wait for the lock: the kernel takes it back a little later."""
    yield from processes.end(place.marker)
    deadline = time.monotonic() + START_SECONDS
    while locks.is_held(place.lock) and time.monotonic() < deadline:
        yield POLL_SECONDS


def _start(settings: Settings, place: WorkerPlace, app: Path, wanted: Wanted) -> Steps[Worker]:
    """Start a worker and wait until it has its place."""
    queue, detached = wanted.queue, wanted.detached
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    log = place.new_log(stamp)
    options = ["--home", str(settings.home), "--queue", queue, "--app", str(app), "--log", str(log)]
    options += [] if detached else ["--owner", str(os.getpid())]
    options += ["--lasting"] if wanted.lasting else []
    options += ["--embedded", "--idle-seconds", str(settings.idle_seconds)] if settings.embedded else []
    environment = {**os.environ, "SUREFOOT_HOME": str(settings.home)}
    environment.pop(WORKER_IDLE, None)  # one that ends with its command is not ended before
    if detached and wanted.idle_seconds is not None:
        environment[WORKER_IDLE] = str(wanted.idle_seconds)
    _prune(place)
    process = launch.start("surefoot.embedded.host", place.marker, *options, log=log, environment=environment)
    if detached:
        code = yield from launch.placed(process, START_SECONDS)
    else:
        code = yield from _in_place(process, place, log)
    record = read(place.record)
    if code != launch.LAUNCHED or record is None:
        raise obituary(settings, Worker(process.pid, queue, log, process), "before it served anything")
    return Worker(record.pid, queue, log, None if detached else process)


def _in_place(process: "subprocess.Popen[bytes]", place: WorkerPlace, log: Path) -> Steps[int]:
    """Wait until an attached worker has its place (LAUNCHED), or ended; else its exit code."""
    deadline = time.monotonic() + START_SECONDS
    placed = False
    try:
        while process.poll() is None and time.monotonic() < deadline and not placed:
            yield POLL_SECONDS
            record = read(place.record)
            placed = record is not None and record.log == str(log)
    finally:
        if not placed:
            process.kill()
            process.wait()
    return launch.LAUNCHED if placed else process.returncode


def obituary(settings: Settings, worker: Worker, when: str) -> SurefootError:
    """Why a worker ended: its home, if that can't be written to, else what its log says last."""
    if (unwritable := Home(settings.home).unwritable()) is not None:
        return unwritable
    code = worker.process.returncode if worker.process is not None else "unknown"
    try:
        said = "\n".join(worker.log.read_text(errors="replace").splitlines()[-5:])
    except OSError:
        said = ""
    ended = f"The worker of queue {worker.queue!r} ended {when} (exit code {code})."
    return WorkerFailed(f"{ended} Its log {shown(worker.log)} ends with:\n{said}")


def _prune(place: WorkerPlace) -> None:
    for log in place.logs()[: -LOGS_KEPT + 1]:
        log.unlink(missing_ok=True)
