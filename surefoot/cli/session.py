"""What a command needs: a server, a client, and, where a worker has to answer, a worker.

A remote server's workers are somebody else's business. On the embedded server a command brings the worker it needs:
one that ends with it while a job is followed, a detached one that ends when idle where the job outlives the command.
"""

import asyncio
import getpass
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from surefoot.client import Client
from surefoot.connection import connect
from surefoot.embedded import lease, wait_until_ready
from surefoot.embedded.home import Home
from surefoot.embedded.worker_record import read
from surefoot.embedded.workers import alive, serve, spawn
from surefoot.settings import Settings, SettingsError, read_settings

WORKER_IDLE_SECONDS = 15.0
T = TypeVar("T")


@dataclass(frozen=True)
class Session:
    """An open connection. `app` is the app file, if one was named."""

    settings: Settings
    client: Client

    @property
    def app(self) -> Path | None:
        return self.settings.app

    async def worker_for(self, job: str) -> None:
        """See to it that a worker serves the job's queue, if that is ours to do."""
        if self.settings.embedded:
            await self.background_worker(await self.client.job(job).queue())

    async def background_worker(self, queue: str) -> None:
        app = self.app_of(queue)
        if app is not None and app.is_file():
            await spawn(self.settings, app, queue, detached=True, worker_idle_seconds=WORKER_IDLE_SECONDS)
        elif not alive(self.settings, queue):
            say(f"no worker serves this job's queue {queue}: start one with `surefoot worker --app FILE`")

    def app_of(self, queue: str) -> Path | None:
        """The app file of a queue: the one that was named, or the one that its last worker ran."""
        if self.app is not None and self.settings.queue() == queue:
            return self.app
        for place in Home(self.settings.home).workers(queue):
            record = read(place.record)
            if record is not None:
                return Path(record.app.path)
        return None


@asynccontextmanager
async def session(app: str | None = None) -> AsyncIterator[Session]:
    """Settings, server and client for one command. Raises `SurefootError`."""
    settings = read_settings(app=app_path(app))
    if settings.embedded:
        async with lease(settings) as held:
            config = settings.connect_config(held.address)
            temporal = await wait_until_ready(lambda: connect(**config), address=held.address)
            yield Session(settings, Client(temporal, task_queue=settings.queue()))
    else:
        temporal = await connect(**settings.connect_config())
        yield Session(settings, Client(temporal, task_queue=settings.queue()))


async def with_worker(opened: Session, queue: str, work: Coroutine[Any, Any, T]) -> T:
    """Do something while a worker is up: one that is, or our own, which ends with this. Raises `WorkerFailed`."""
    app = opened.app_of(queue)
    if not opened.settings.embedded or app is None:
        return await work
    try:
        async with serve(opened.settings, app, queue) as hosting:
            return await beside(work, hosting.lost())
    finally:
        work.close()  # not begun if no worker could be started


async def beside(work: Coroutine[Any, Any, T], watch: Coroutine[Any, Any, NoReturn]) -> T:
    """The result of `work`; what `watch` raises, if it does so first."""
    tasks: tuple[asyncio.Task[T], asyncio.Task[NoReturn]] = (asyncio.create_task(work), asyncio.create_task(watch))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else tasks[1].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def app_path(app: str | None) -> Path | None:
    return Path(app) if app else None


def needs_app(opened: Session) -> None:
    """On the embedded server nobody else brings the agents."""
    if opened.settings.embedded and opened.app is None:
        raise SettingsError("no app file: name the file that defines your agents with --app FILE or SUREFOOT_APP")


def say(text: str) -> None:
    click.echo(text, err=True)


def me() -> str:
    """Who decides on this terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "terminal"


app_option = click.option("--app", metavar="FILE", help="The app file (SUREFOOT_APP).")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
