"""Commands that reach a running job: steer, pause, resume, stop, cancel."""

from collections.abc import Awaitable, Callable

import click

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.output import say
from surefoot.cli.session import app_option, session
from surefoot.job import Job


def _send(job: str, app: str | None, send: Callable[[Job], Awaitable[None]], done: str) -> None:
    async def work() -> None:
        async with session(app) as opened:
            await send(opened.client.job(job))
            await opened.worker_for(job)
        say(f"{job}: {done}")

    exits.run(work())


@click.command()
@click.argument("job")
@click.argument("text")
@app_option
def steer(job: str, text: str, app: str | None) -> None:
    """Send a message to a running job; it enters after the results of the current round."""
    _send(job, app, lambda handle: handle.steer(text, by=me()), "the message enters after the current round")


@click.command()
@click.argument("job")
@app_option
def pause(job: str, app: str | None) -> None:
    """Hold a job before its next step."""
    _send(job, app, lambda handle: handle.pause(by=me()), "holds before its next step")


@click.command()
@click.argument("job")
@app_option
def resume(job: str, app: str | None) -> None:
    """Let a paused job go on."""
    _send(job, app, lambda handle: handle.resume(by=me()), "goes on")


@click.command()
@click.argument("job")
@app_option
def stop(job: str, app: str | None) -> None:
    """End a job at its next step, with a closing answer."""
    _send(job, app, lambda handle: handle.stop(by=me()), "ends at its next step")


@click.command()
@click.argument("job")
@app_option
def cancel(job: str, app: str | None) -> None:
    """End a job now."""
    _send(job, app, lambda handle: handle.cancel(by=me()), "is being cancelled")
