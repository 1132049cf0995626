"""Commands that stay: dev and worker."""

import sys

import click

from surefoot.cli import exits
from surefoot.cli.output import say
from surefoot.cli.session import app_option, app_path, beside, load, needs_app, session
from surefoot.embedded import serve_foreground
from surefoot.embedded.workers import serve
from surefoot.settings import SettingsError, read_settings


@click.command()
@app_option
@click.option("--ui/--no-ui", default=True, show_default=True, help="Temporal's own web UI.")
def dev(app: str | None, ui: bool) -> None:
    """Embedded server and worker in the foreground. Ctrl-C ends both; everything is there again after a new start."""

    async def work() -> None:
        settings = read_settings(app=app_path(app))
        if not settings.embedded:
            raise SettingsError(
                "TEMPORAL_ADDRESS names a server, so none is embedded: use `surefoot worker --app FILE`"
            )
        if settings.app is not None:
            load(settings.app)
        async with serve_foreground(settings, ui=ui) as held:
            say(f"Temporal server {held.version} at {held.address}, state in {settings.home}")
            if held.ui:
                say(f"Temporal UI at {held.ui}")
            elif ui:
                say(
                    "no Temporal UI: another command started this server, without one, and it is used as it runs; for"
                    " the UI leave all commands that use it, it ends soon after the last, and run `surefoot dev` again"
                )
            if settings.app is None:
                say("no app file, so no worker: name one with --app FILE")
                await held.lost()
            say(f"other programs reach both by: TEMPORAL_ADDRESS={held.address} SUREFOOT_TASK_QUEUE={settings.queue()}")
            async with serve(settings, settings.app, settings.queue()) as hosting:
                say(f"worker for {settings.app} (queue {settings.queue()}), log in {hosting.worker.log}")
                await beside(held.lost(), hosting.lost())

    exits.run(work())


@click.command()
@app_option
def worker(app: str | None) -> None:
    """A worker for the server of TEMPORAL_ADDRESS (without one: for the embedded server)."""
    with exits.telling():
        settings = read_settings(app=app_path(app))
        file = needs_app(settings)
    if not settings.embedded:
        from worker import main

        sys.exit(main(["--app", str(file), "--task-queue", settings.queue()]))

    async def work() -> None:
        load(file)
        async with session(app, new=True), serve(settings, file, settings.queue()) as hosting:
            say(f"worker for {file} (queue {settings.queue()}), log in {hosting.worker.log}")
            await hosting.lost()

    exits.run(work())
