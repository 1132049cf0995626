"""The process that hosts workflows and activities for one app file: `python -m worker --app FILE`.

It needs nothing but Temporal's own settings to find its server.
"""

import argparse
import asyncio
import importlib.util
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Interceptor, Worker

from activities.apps import App, load_app
from activities.connection import NotConnected, logged_runtime, open_client
from activities.containment import Contained
from activities.errors import DefinitionError
from activities.hosted import HostedActivities
from activities.idleness import Activity, until_idle
from activities.payloads import BadKeys
from activities.sandbox import Sandbox
from activities.seconds import WORKER_IDLE, read_seconds
from activities.settings import Settings as Settings
from workflows.agent_job import AgentJob
from workflows.batches.batch import Batch
from workflows.batches.part import BatchPart
from workflows.lanes.lane import Lane
from workflows.lanes.provider_batch import ProviderBatch
from workflows.notice_delivery import NoticeDelivery
from workflows.queues.job_queue import JobQueue
from workflows.rates.contracts import rated_queue
from workflows.rates.model_rate import ModelRate

log = logging.getLogger("surefoot.worker")
DEFAULT_QUEUE = "surefoot"
CONNECT_SECONDS = 30.0
BROKEN, WRONG_USE, NO_SERVER = 1, 2, 5
LEAVING_SECONDS = 3.0
OURS = ("workflows", "activities", "surefoot")
WORKFLOWS = (AgentJob, NoticeDelivery, Batch, BatchPart, Lane, ProviderBatch, ModelRate, JobQueue)
"""All that a worker hosts, and that a replay has to know."""


class Shadowed(ImportError):
    """Another distribution's package stands where one of ours should."""


def check_imports() -> None:
    """Say what shadows our packages: other distributions may bring a `workflows` or an `activities` too."""
    here = Path(__file__).resolve().parent
    for name in OURS:
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or origin.parent.parent != here:
            raise Shadowed(
                f"`import {name}` finds {origin or 'nothing'}, not Surefoot's {here / name}: another distribution or a"
                f" folder on the path has that name. Remove it, or run in an environment of its own. Path: {sys.path}"
            )


@asynccontextmanager
async def hosting(
    client: Client,
    app: App,
    *,
    task_queue: str = DEFAULT_QUEUE,
    settings: Settings | None = None,
    interceptors: Sequence[Interceptor] = (),
) -> AsyncIterator[Worker]:
    """A running worker for `app`; on leaving, activities get `shutdown_seconds` to finish, and clients are closed."""
    settings = settings or Settings()
    hosted = HostedActivities(client, app, task_queue, settings)
    serving = partial(
        Worker,
        client,
        interceptors=[Contained(), *interceptors],
        max_concurrent_activities=settings.max_activities,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_seconds),
    )
    worker = serving(
        task_queue=task_queue,
        workflows=WORKFLOWS,
        activities=hosted.all,
        workflow_runner=Sandbox(),
        max_cached_workflows=settings.max_cached_workflows,
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=settings.sticky_seconds),
    )
    rated = [
        serving(
            task_queue=rated_queue(task_queue, rate.name),
            activities=hosted.rated,
            max_task_queue_activities_per_second=rate.per_second,
        )
        for rate in app.rates.values()
    ]
    try:
        async with _together(worker, *rated):
            yield worker
    finally:
        await hosted.close()


@asynccontextmanager
async def _together(*workers: Worker) -> AsyncIterator[None]:
    """All of them run, and on leaving are given the same time to finish, not one after the other."""
    async with AsyncExitStack() as running:
        for worker in workers:
            await running.enter_async_context(worker)
        try:
            yield
        finally:
            await asyncio.gather(*(worker.shutdown() for worker in workers))


def log_to_stderr() -> None:
    """Log to where stderr leads now, warnings too, whatever tools do to `sys.stderr` later.

    Where a line can't be written, it is lost: `logging` would complain on `sys.stderr`, and if that is closed raise
    from whichever step had something to log.
    """
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, stream=_own_stderr())
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it would log the ids of sessions


def _own_stderr() -> TextIO | None:
    """stderr by a descriptor of our own; `sys.stderr` itself where it has none."""
    stderr: TextIO | None = sys.stderr
    if stderr is None:
        return None
    try:
        return open(os.dup(stderr.fileno()), "w", buffering=1, encoding=stderr.encoding, errors="backslashreplace")
    except (OSError, ValueError):
        return stderr


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop, which takes a tenth off the worker's processor time; there is none for Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def connect(**overrides: Any) -> Client:
    """A client by Temporal's own settings: environment variables and profiles. Raises `NotConnected`."""
    settings = dict(ClientConfig.load_client_connect_config())
    return await open_client(settings | overrides, wait_seconds=CONNECT_SECONDS)


async def _serve(app: App, task_queue: str, idle_seconds: float | None) -> None:
    client = await connect(runtime=logged_runtime("WARN"))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    noted = Activity()
    settings = Settings.from_environment()
    async with hosting(client, app, task_queue=task_queue, settings=settings, interceptors=[noted]):
        log.info("serves queue %s: agents %s", task_queue, ", ".join(sorted(app.agents)))
        ends: list[asyncio.Task[Any]] = [asyncio.create_task(stop.wait())]
        if idle_seconds is not None:
            ends.append(asyncio.create_task(until_idle(client, task_queue, noted, idle_seconds)))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        log.info("stopping: running steps get a moment to finish")
        _leave_within(settings.shutdown_seconds + LEAVING_SECONDS)
    _leave_within(LEAVING_SECONDS)


def _leave_within(seconds: float, code: int = 0) -> None:
    """End this process even if something hangs, and Python would wait for it for ever.

    A tool's thread can't be ended; and after a restart of its server the SDK's worker may never come to its end.
    """

    def leave() -> None:
        log.warning("a tool's thread or the SDK's worker does not end; the process ends without it")
        logging.shutdown()
        os._exit(code)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM. 0 after a clean stop, 2 when app or settings can't be used, 5 without a server."""
    parser = argparse.ArgumentParser(prog="worker", description=__doc__)
    parser.add_argument("--app", default=os.environ.get("SUREFOOT_APP"), help="app file (SUREFOOT_APP)")
    parser.add_argument("--task-queue", default=os.environ.get("SUREFOOT_TASK_QUEUE") or DEFAULT_QUEUE)
    options = parser.parse_args(arguments)
    log_to_stderr()
    if not options.app:
        parser.error("no app file: give --app FILE or set SUREFOOT_APP")
    try:
        check_imports()
        app = load_app(options.app)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            try:
                runner.run(_serve(app, options.task_queue, read_seconds(WORKER_IDLE)))
            except (SystemExit, KeyboardInterrupt):
                # Something broke out of the event loop. It is closed now, which waits for the SDK's worker, perhaps for
                # ever: a process that serves nothing, and keeps its place from the one that would take over.
                log.critical("the event loop was ended from inside; this worker ends", exc_info=True)
                _leave_within(LEAVING_SECONDS, code=BROKEN)
                raise
    except (Shadowed, DefinitionError, BadKeys) as error:
        sys.stderr.write(f"worker: {error}\n")
        return WRONG_USE
    except NotConnected as error:
        sys.stderr.write(f"worker: {error}\n")
        return NO_SERVER
    except (SystemExit, KeyboardInterrupt):
        return BROKEN
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    with suppress(OSError, ValueError, AttributeError):  # a tool may have closed it, or set it to None
        sys.stdout.flush()
    # Python's own farewell races with the SDK's threads, and loses: "Fatal Python error: PyGILState_Release" in every
    # third process (temporalio/sdk-python#300).
    os._exit(code)
