"""Commands that stay and run jobs: dev and worker."""

import sys

import click

from surefoot.cli import exits
from surefoot.cli.console import HOST, console_of, offered_by, port_option
from surefoot.cli.output import say
from surefoot.cli.session import app_option, app_path, beside, load, needs_app, session
from surefoot.client import Client
from surefoot.connection import connect_embedded
from surefoot.embedded import Lease, serve_foreground
from surefoot.embedded.workers import Hosting, serve
from surefoot.http.access import Access
from surefoot.http.gathering import access_for
from surefoot.http.offered import Offered
from surefoot.settings import Settings, SettingsError, read_settings


@click.command()
@app_option
@click.option("--ui/--no-ui", default=True, show_default=True, help="Temporal's own web UI.")
@click.option("--console/--no-console", "shows", default=True, show_default=True, help="The web console and HTTP API.")
@port_option
def dev(app: str | None, ui: bool, shows: bool, port: int | None) -> None:
    """Embedded server, worker and web console in the foreground, until Ctrl-C; a new start finds everything again."""

    async def work() -> None:
        settings = read_settings(app=app_path(app))
        if not settings.embedded:
            raise SettingsError(
                "TEMPORAL_ADDRESS names a server, so none is embedded: use `surefoot worker --app FILE`"
            )
        offered = offered_by(settings)
        access = access_for(HOST) if shows else None
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
                say("no app file, so no worker and no console: name one with --app FILE")
                await held.lost()
            say(f"other programs reach both by: TEMPORAL_ADDRESS={held.address} SUREFOOT_TASK_QUEUE={settings.queue()}")
            async with serve(settings, settings.app, settings.queue(), lasting=True) as hosting:
                say(f"worker for {settings.app} (queue {settings.queue()}), log in {hosting.worker.log}")
                if access is None:
                    await beside(held.lost(), hosting.lost())
                else:
                    await _with_console(settings, held, hosting, access, port, offered)

    exits.run(work())


async def _with_console(
    settings: Settings, held: Lease, hosting: Hosting, access: Access, port: int | None, offered: Offered | None
) -> None:
    """The console too, until it or one of the others is lost."""
    temporal = await connect_embedded(settings, held.address)
    client = Client(temporal, task_queue=settings.queue())
    async with console_of(client, settings, access, HOST, port, offered=offered, temporal_ui=held.ui) as running:
        await beside(running.lost(), beside(held.lost(), hosting.lost()))


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
        async with session(app, new=True), serve(settings, file, settings.queue(), lasting=True) as hosting:
            say(f"worker for {file} (queue {settings.queue()}), log in {hosting.worker.log}")
            await hosting.lost()

    exits.run(work())
