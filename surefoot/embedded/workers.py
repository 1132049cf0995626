"""Workers as processes of this machine: started, found, replaced when their app changed, ended.

A queue has two places: one for a worker that ends with the command that started it, one for a detached
worker that outlives it. The newest code wins: a worker of either kind that loaded an older app file is
asked to end; running steps are then retried by its successor, as after any deploy.
"""

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from activities.seconds import WORKER_IDLE
from surefoot.embedded import launch, locks, processes
from surefoot.embedded.errors import WorkerFailed
from surefoot.embedded.home import Home, WorkerPlace, prepare, shown
from surefoot.embedded.pacing import POLL_SECONDS, Steps, drive_async
from surefoot.embedded.worker_record import WorkerRecord, read
from surefoot.errors import SurefootError
from surefoot.settings import Settings

if TYPE_CHECKING:
    import asyncio

START_SECONDS = 30.0
WATCH_SECONDS = 0.5
SPAWN_SECONDS = 60.0
MOST_STARTS = 4
STARTS_WINDOW = 60.0
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


def alive(settings: Settings, queue: str) -> bool:
    """Is a worker of this queue up, of either kind?"""
    return any(locks.is_held(place.lock) for place in Home(settings.home).workers(queue))


def running(settings: Settings, queue: str) -> list[WorkerRecord]:
    """The workers of this queue that are up, as far as they have said what they are."""
    try:
        places = [place for place in Home(settings.home).workers(queue) if locks.is_held(place.lock)]
    except OSError:  # a home that can't be looked into has none; whoever starts something there is told why
        return []
    return [record for place in places if (record := read(place.record)) is not None]


def serves(settings: Settings, app: Path) -> bool:
    """Is a worker up that has the present code of `app`, so that none would be started for it?"""
    return any(record.serves(app) for record in running(settings, settings.queue(app)))


async def spawn(
    settings: Settings, app: Path, queue: str, *, detached: bool, worker_idle_seconds: float | None = None
) -> Worker:
    """A worker of this queue with the present code of `app`: one that is up, else a new process.

    `detached` asks for one that outlives us; it ends by itself after `worker_idle_seconds` without work.
    Raises WorkerFailed, and HomeUnusable if its home can't be written to.
    """
    if sys.platform == "win32":
        raise WorkerFailed("Workers are not started by themselves on Windows: run `python -m worker --app FILE`.")
    return await drive_async(_spawn(settings, app, queue, detached, worker_idle_seconds))


async def stop(settings: Settings, queue: str) -> bool:
    """End every local worker of this queue. True if there was one."""
    places = [place for place in Home(settings.home).workers(queue) if locks.is_held(place.lock)]
    for place in places:
        await drive_async(_end(place))
    return bool(places)


class Hosting:
    """A queue that is served while this is held."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._watch: asyncio.Task[NoReturn] | None = None

    async def lost(self) -> NoReturn:
        """Never returns; raises WorkerFailed (or HomeUnusable) once no worker can be had."""
        import asyncio

        assert self._watch is not None, "a queue is watched while it is held"
        await asyncio.shield(self._watch)
        raise AssertionError("the watch of a queue never returns")


@asynccontextmanager
async def serve(settings: Settings, app: Path, queue: str) -> AsyncIterator[Hosting]:
    """Keep a worker up for this queue: ours or somebody else's, and a new one when that has gone."""
    import asyncio

    hosting = Hosting(await spawn(settings, app, queue, detached=False))
    watch = asyncio.create_task(_keep(hosting, settings, app, queue), name="surefoot-worker")
    hosting._watch = watch
    try:
        yield hosting
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await hosting.worker.stop()


async def _keep(hosting: Hosting, settings: Settings, app: Path, queue: str) -> NoReturn:
    import asyncio

    starts: deque[float] = deque(maxlen=MOST_STARTS)
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        process = hosting.worker.process
        if process.poll() is None if process is not None else alive(settings, queue):
            continue
        failed = process is not None and process.returncode > 0
        if failed or (len(starts) == MOST_STARTS and time.monotonic() - starts[0] < STARTS_WINDOW):
            raise _obituary(settings, hosting.worker, "again and again" if not failed else "by itself")
        starts.append(time.monotonic())
        hosting.worker = await spawn(settings, app, queue, detached=False)


def _spawn(settings: Settings, app: Path, queue: str, detached: bool, idle: float | None) -> Steps[Worker]:
    app = Path(os.path.abspath(app))
    home = prepare(settings.home)
    if not app.is_file():
        raise WorkerFailed(f"The app file {shown(app)} does not exist. Give its path with --app or SUREFOOT_APP.")
    deadline = time.monotonic() + SPAWN_SECONDS
    while (turn := locks.try_exclusive(home.spawning(queue))) is None:
        if time.monotonic() > deadline:
            raise WorkerFailed(
                f"Another command has been starting a worker of queue {queue!r} for {SPAWN_SECONDS:.0f} s; try again."
            )
        yield POLL_SECONDS
    with turn:
        running = yield from _up_to_date(home, app, queue)
        wanted = [record for record, is_detached in running if is_detached or not detached]
        if wanted:
            return Worker(wanted[0].pid, queue, Path(wanted[0].log))
        return (yield from _start(settings, home.worker(queue, detached=detached), app, queue, detached, idle))


def _up_to_date(home: Home, app: Path, queue: str) -> Steps[list[tuple[WorkerRecord, bool]]]:
    """The workers that are up, each with whether it is detached; those with older code are ended first."""
    running = []
    for place, detached in zip(home.workers(queue), (False, True), strict=True):
        if not locks.is_held(place.lock):
            continue
        record = read(place.record)
        if record is not None and record.serves(app):
            running.append((record, detached))
        else:
            yield from _end(place)
    return running


def _end(place: WorkerPlace) -> Steps[None]:
    """End the worker of this place, and wait for the lock: the kernel takes it back a little later."""
    yield from processes.end(place.marker)
    deadline = time.monotonic() + START_SECONDS
    while locks.is_held(place.lock) and time.monotonic() < deadline:
        yield POLL_SECONDS


def _start(
    settings: Settings, place: WorkerPlace, app: Path, queue: str, detached: bool, idle: float | None
) -> Steps[Worker]:
    """Start a worker and wait until it has its place."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    log = place.new_log(stamp)
    options = ["--home", str(settings.home), "--queue", queue, "--app", str(app), "--log", str(log)]
    options += [] if detached else ["--owner", str(os.getpid())]
    options += ["--embedded", "--idle-seconds", str(settings.idle_seconds)] if settings.embedded else []
    environment = {**os.environ, "SUREFOOT_HOME": str(settings.home)}
    environment.pop(WORKER_IDLE, None)  # one that ends with its command is not ended before
    if detached and idle is not None:
        environment[WORKER_IDLE] = str(idle)
    _prune(place)
    process = launch.start("surefoot.embedded.host", place.marker, *options, log=log, environment=environment)
    if detached:
        code = yield from launch.placed(process, START_SECONDS)
    else:
        code = yield from _in_place(process, place, log)
    record = read(place.record)
    if code != launch.LAUNCHED or record is None:
        raise _obituary(settings, Worker(process.pid, queue, log, process), "before it served anything")
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


def _obituary(settings: Settings, worker: Worker, when: str) -> SurefootError:
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
