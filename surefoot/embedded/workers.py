"""Workers of this machine as others see them: which are up, one that is wanted, and a queue that is kept served.

How one is found or started stands in `spawning.py`.
"""

import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from surefoot.embedded import locks
from surefoot.embedded.errors import WorkerFailed
from surefoot.embedded.home import Home
from surefoot.embedded.pacing import drive_async
from surefoot.embedded.spawning import Wanted, Worker, end, obituary, spawned
from surefoot.embedded.worker_record import WorkerRecord, read
from surefoot.settings import Settings

if TYPE_CHECKING:
    import asyncio

WATCH_SECONDS = 0.5
MOST_STARTS = 4
STARTS_WINDOW = 60.0


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
    settings: Settings,
    app: Path,
    queue: str,
    *,
    detached: bool,
    lasting: bool = False,
    worker_idle_seconds: float | None = None,
) -> Worker:
    """A worker of this queue with the present code of `app`: one that is up, else a new process.

    `detached` asks for one that outlives us; it ends by itself after `worker_idle_seconds` without work. `lasting`
    says that we stay until somebody ends us, so that our worker does for those who ask for one that outlives them.
    Raises WorkerFailed, and HomeUnusable if its home can't be written to.
    """
    if sys.platform == "win32":
        raise WorkerFailed("Workers are not started by themselves on Windows: run `python -m worker --app FILE`.")
    wanted = Wanted(queue, detached, lasting, worker_idle_seconds)
    return await drive_async(spawned(settings, app, wanted))


async def stop(settings: Settings, queue: str) -> bool:
    """End every local worker of this queue. True if there was one."""
    places = [place for place in Home(settings.home).workers(queue) if locks.is_held(place.lock)]
    for place in places:
        await drive_async(end(place))
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
async def serve(settings: Settings, app: Path, queue: str, *, lasting: bool = False) -> AsyncIterator[Hosting]:
    """Keep a worker up for this queue: ours or somebody else's, and a new one when that has gone.

    `lasting`: for as long as nobody ends this command, and not for one job.
    """
    import asyncio

    hosting = Hosting(await spawn(settings, app, queue, detached=False, lasting=lasting))
    watch = asyncio.create_task(_keep(hosting, settings, app, queue, lasting), name="surefoot-worker")
    hosting._watch = watch
    try:
        yield hosting
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await hosting.worker.stop()


async def _keep(hosting: Hosting, settings: Settings, app: Path, queue: str, lasting: bool) -> NoReturn:
    import asyncio

    starts: deque[float] = deque(maxlen=MOST_STARTS)
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        process = hosting.worker.process
        if process.poll() is None if process is not None else alive(settings, queue):
            continue
        failed = process is not None and process.returncode > 0
        if failed or (len(starts) == MOST_STARTS and time.monotonic() - starts[0] < STARTS_WINDOW):
            raise obituary(settings, hosting.worker, "again and again" if not failed else "by itself")
        starts.append(time.monotonic())
        hosting.worker = await spawn(settings, app, queue, detached=False, lasting=lasting)
