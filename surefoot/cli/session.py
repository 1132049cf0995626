"""What a command needs: a server, a client, and, where a worker has to answer, a worker.

A remote server's workers are somebody else's business. On the embedded server a command brings the worker it needs:
one that ends with it while a job is followed, a detached one that ends when idle where the job outlives the command.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from temporalio.client import Client as Temporal

from activities.apps import App, load_app
from activities.seconds import WORKER_IDLE, read_seconds
from surefoot.cli.output import say
from surefoot.client import Client
from surefoot.connection import connect, connect_embedded
from surefoot.embedded import lease
from surefoot.embedded.home import DATABASE, Home
from surefoot.embedded.worker_record import read
from surefoot.embedded.workers import alive, running, serve, spawn
from surefoot.errors import NoSuchJob, NoWorker, ServerNotReached
from surefoot.polling import list_pollers
from surefoot.settings import Settings, SettingsError, read_settings

WORKER_IDLE_SECONDS = 15.0
REMIND_SECONDS = 1.5
LOOK_SECONDS = 0.1
POLLS_WITHIN = 20.0
"""How long a worker that is up may take to load its app and its SDKs. Whether it answers is then seen by asking."""
CONNECT_SECONDS = 5.0
T = TypeVar("T")


@dataclass(frozen=True)
class Session:
    """An open connection. `named` is the app file of `--app`; that of the settings may be SUREFOOT_APP's."""

    settings: Settings
    client: Client
    named: Path | None = None

    async def worker_for(self, job: str, *, look: bool = False) -> None:
        """See to it that a worker serves the job's queue, if that is ours to do.

        To `look` at a job any worker will do, and none can't be waited for: raises `NoWorker`. For a job to go on,
        it takes one that outlives this command.
        """
        if self.settings.embedded:
            await self.worker_of(await self.client.job(job).queue(), look=look)

    async def worker_of(self, queue: str, *, look: bool = False) -> None:
        """The same for a queue whose jobs or batches are to be looked at, or to go on."""
        if not self.settings.embedded:
            return
        if not (look and alive(self.settings, queue)):
            try:
                await self.background_worker(queue)
            except NoWorker as error:
                if look:
                    raise
                say(str(error))
        await self._until_it_polls(queue)

    async def _until_it_polls(self, queue: str) -> None:
        """A worker is up before it asks for work; until then the server refuses questions, as if there were none."""
        end = time.monotonic() + POLLS_WITHIN
        while (records := running(self.settings, queue)) and time.monotonic() < end:
            pids = {str(record.pid) for record in records}
            if any(each.identity.partition("@")[0] in pids for each in await list_pollers(self.client.temporal, queue)):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def background_worker(self, queue: str) -> None:
        """One that ends when idle. Raises `NoWorker` if nobody knows what it should run, and `DefinitionError`."""
        app = self.app_of(queue)
        if app is not None and app.is_file():
            load(app)  # in the background nobody would see that it can't be
            await spawn(self.settings, app, queue, detached=True, worker_idle_seconds=_idle_seconds())
        elif not alive(self.settings, queue):
            was = f" (its app file was {app})" if app else ""
            raise NoWorker(f"no worker serves this job's queue {queue}{was}: name the app file with --app FILE")

    def app_of(self, queue: str) -> Path | None:
        """The app file of a queue: the one whose queue it is, else the one that its last worker ran.

        If that is gone, the one of `--app`: a file that was moved takes its jobs along, but only by a person's word.
        """
        if self.settings.app is not None and self.settings.queue() == queue:
            return self.settings.app
        for place in Home(self.settings.home).workers(queue):
            record = read(place.record)
            if record is not None:
                last = Path(record.app.path)
                return last if last.is_file() else self.named or last
        return self.named


@asynccontextmanager
async def session(app: str | None = None, *, new: bool = False) -> AsyncIterator[Session]:
    """Settings, server and client for one command. Raises `SurefootError`.

    Only a command that makes something `new` begins a home: to all others one without a database has no jobs, and
    no server need be started to say so (`NoJobs`).
    """
    settings = read_settings(app=app_path(app))
    if not settings.embedded:
        temporal = await remote(settings)
        yield Session(settings, Client(temporal, task_queue=settings.queue()), app_path(app))
        return
    if not new and not (settings.home / DATABASE).exists():
        raise NoJobs(
            f"there are no jobs in {settings.home}: start one with `surefoot run AGENT INPUT --app FILE`, or set"
            " SUREFOOT_HOME to where yours are"
        )
    async with lease(settings) as held:
        temporal = await connect_embedded(settings, held.address)
        yield Session(settings, Client(temporal, task_queue=settings.queue()), app_path(app))


async def remote(settings: Settings) -> Temporal:
    """A connection to the server that the settings name. Raises `ServerNotReached`, also for one that stays silent."""
    config = settings.connect_config()
    try:
        return await asyncio.wait_for(connect(**config), CONNECT_SECONDS)
    except TimeoutError:
        raise ServerNotReached(
            f"nothing answered at {config.get('target_host')} within {CONNECT_SECONDS:g} s, though something listens or"
            " swallows what is sent there: check TEMPORAL_ADDRESS, and that no firewall lies between"
        ) from None


class NoJobs(NoSuchJob):
    """Nothing was ever started in this home."""


async def with_worker(opened: Session, queue: str, work: Coroutine[Any, Any, T], *, lasting: bool = False) -> T:
    """Do something while a worker is up: one that is, or our own, which ends with this. Raises `WorkerFailed`.

    `lasting` work goes on until somebody ends it.
    """
    app = opened.app_of(queue)
    if not opened.settings.embedded or app is None:
        return await work
    reminder: asyncio.TimerHandle | None = None
    try:
        async with serve(opened.settings, app, queue, lasting=lasting) as hosting:
            try:
                return await beside(work, hosting.lost())
            finally:
                text = "the worker gives its running steps a few seconds to finish; Ctrl-C leaves at once"
                reminder = asyncio.get_running_loop().call_later(REMIND_SECONDS, say, text)
    finally:
        work.close()  # not begun if no worker could be started
        if reminder is not None:
            reminder.cancel()


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


def _idle_seconds() -> float:
    """How long a worker that outlives its command stays without work. Raises `DefinitionError`."""
    seconds = read_seconds(WORKER_IDLE)
    return WORKER_IDLE_SECONDS if seconds is None else seconds


def app_path(app: str | None) -> Path | None:
    return Path(app) if app else None


def needs_app(settings: Settings) -> Path:
    """The app file, where nobody else brings the agents."""
    if settings.app is None:
        raise SettingsError("no app file: name the file that defines your agents with --app FILE or SUREFOOT_APP")
    return settings.app


def load(path: Path) -> App:
    """The app, to be looked at. What its file prints does not get into an answer. Raises `DefinitionError`."""
    with redirect_stdout(sys.stderr):
        return load_app(path)


app_option = click.option("--app", metavar="FILE", help="The app file (SUREFOOT_APP).")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
