"""Commands on named queues: see how they stand, change their numbers, hold them."""

from collections.abc import Awaitable, Callable
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say
from surefoot.cli.pages import err, out, print_table
from surefoot.cli.session import NoJobs, app_option, json_option, session
from surefoot.queues import NamedQueue, QueueView
from surefoot.queues.queue import ENDED
from workflows.queues.contracts import MOST_AT_ONCE


@click.group()
def queue() -> None:
    """Named queues of the app file, which jobs are started in by: surefoot run --queue NAME."""


@queue.command("list")
@app_option
@json_option
def list_(app: str | None, as_json: bool) -> None:
    """All queues that a job was started in."""

    async def work() -> None:
        try:
            async with session(app) as opened:
                views = await opened.client.queues.list()
        except NoJobs:
            views = []
        emit([plain(view) for view in views]) if as_json else print_queues(views)

    exits.run(work())


@queue.command()
@click.argument("name")
@app_option
@json_option
def show(name: str, app: str | None, as_json: bool) -> None:
    """How a queue stands."""

    async def work() -> None:
        async with session(app) as opened:
            view = await opened.client.queues[name].view()
        emit(plain(view)) if as_json else print_queues([view])

    exits.run(work())


def _send(name: str, app: str | None, send: Callable[[NamedQueue], Awaitable[None]], done: str) -> None:
    async def work() -> None:
        async with session(app) as opened:
            await send(opened.client.queues[name])
            await opened.worker_of(opened.client.task_queue)
        say(f"{name}: {done}")

    exits.run(work())


@queue.command("set")
@click.option("--concurrency", type=click.IntRange(1, MOST_AT_ONCE), help="So many of its jobs run at a time.")
@click.option("--rate", type=click.FloatRange(0), metavar="JOBS", help="So many begin in a minute; 0: no such limit.")
@click.argument("name")
@app_option
def set_(concurrency: int | None, rate: float | None, name: str, app: str | None) -> None:
    """Change a queue's numbers, until those in the app file are changed."""
    given: dict[str, Any] = {"concurrency": concurrency, "rate": rate}
    _send(name, app, lambda found: found.set(by=me(), **given), "has other numbers now")


@queue.command()
@click.option("--reason", help="Shown to whoever looks at it.")
@click.argument("name")
@app_option
def pause(reason: str | None, name: str, app: str | None) -> None:
    """Let no more jobs begin for now; those that run go on."""
    _send(name, app, lambda found: found.pause(by=me(), reason=reason), "no more jobs begin for now")


@queue.command()
@click.argument("name")
@app_option
def resume(name: str, app: str | None) -> None:
    """Let jobs begin again."""
    _send(name, app, lambda found: found.resume(by=me()), "jobs begin again")


def print_queues(views: list[QueueView]) -> None:
    if not views:
        err().print("No queues yet. They come with the first job: surefoot run AGENT INPUT --queue NAME")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("queue", "at a time", "a minute", "queued", "running", "waiting"):
        table.add_column(column, overflow="fold")
    for view in views:
        rate = f"{view.rate:g}" if view.rate else "-"
        numbers = (f"{view.queued:,}", f"{view.running:,}", f"{view.waiting:,}")
        table.add_row(Text(view.queue), f"{view.concurrency:,}", rate, *numbers)
    print_table(table)
    for view in views:
        if view.held:
            out().print(Text(f"{view.queue} passes over jobs of held batches: {', '.join(view.held)}", "yellow"))
        if view.hold:
            again = f"; go on with: surefoot queue resume {view.queue}" if view.hold != ENDED else ""
            out().print(Text(f"{view.queue} is held: {view.hold}{again}", "yellow"))
