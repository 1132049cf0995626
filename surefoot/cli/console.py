"""`surefoot console` and `surefoot token`: the web console and the HTTP API, and who may use them.

Without tokens and issuer everybody who reaches the port is the person at this machine: so the port is this machine's.
"""

import asyncio
import difflib
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import click

from activities.artifacts import Artifacts
from surefoot.cli import exits
from surefoot.cli.output import say, write
from surefoot.cli.session import app_option, app_path, load, needs_app, session, with_worker
from surefoot.client import Client
from surefoot.embedded.workers import serves
from surefoot.http import access_log, tokens
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.gathering import access_for
from surefoot.http.offered import Offered
from surefoot.http.people import GIVES
from surefoot.http.serving import PORT, Serving, listen, serving
from surefoot.settings import Settings, read_settings

HOST = "127.0.0.1"
LIKENESS = 0.75
"""From 0 to 1: how much a role must be like one of ours to be taken for a slip of the pen."""

port_option = click.option(
    "--port", type=click.IntRange(0, 65535), help=f"The console's port; 0: any. Default {PORT}, or any if it is taken."
)


@asynccontextmanager
async def console_of(
    client: Client,
    settings: Settings,
    access: Access,
    host: str,
    port: int | None,
    *,
    offered: Offered | None,
    temporal_ui: str | None = None,
) -> AsyncIterator[Serving]:
    """The console and the API, at an address that is said. Raises `SettingsError`."""
    artifacts = Artifacts.from_environment({**os.environ, "SUREFOOT_HOME": str(settings.home)})
    ui = temporal_ui or os.environ.get("SUREFOOT_TEMPORAL_UI") or None
    app = create_app(client, access, temporal_ui=ui, artifacts=artifacts, offered=offered)
    async with serving(app, listen(host, port)) as running:
        if port is None and not running.url.endswith(f":{PORT}"):
            say(f"another program has port {PORT}: the console listens at {running.url}; --port chooses its port")
        say(f"console at {access.public_url or running.url}, HTTP API described at {running.url}/docs")
        if access.everybody is not None:
            say(
                f"nobody is asked for a token: whoever uses this machine is {access.everybody.name} to the console, and"
                " may do all (SUREFOOT_TOKENS and SUREFOOT_OIDC_ISSUER change that)"
            )
        elif access.sessions.secure and access.public_url is None:
            say("browsers can sign in over TLS alone: SUREFOOT_CONSOLE_URL says where people reach the console")
        yield running


def offered_by(settings: Settings) -> Offered | None:
    """The agents of the app, where its workers are this machine's: those of another server may run another file.

    Raises `DefinitionError`.
    """
    app = settings.app
    if app is None or not settings.embedded:
        return None
    return Offered(app, load, lambda: serves(settings, app))


@click.command()
@app_option
@click.option("--host", default=HOST, show_default=True, help="The address to listen on.")
@port_option
def console(app: str | None, host: str, port: int | None) -> None:
    """The web console and the HTTP API, for the server of TEMPORAL_ADDRESS (without one: the embedded server).

    SUREFOOT_TOKENS or SUREFOOT_OIDC_ISSUER say who may use it; without them it can't be reached from other machines.
    """

    async def serve() -> None:
        access = access_for(host)
        settings = read_settings(app=app_path(app))
        if settings.embedded:
            needs_app(settings)
        offered = offered_by(settings)
        _show_requests()
        async with session(app, new=True) as opened:

            async def shown() -> None:
                async with console_of(opened.client, settings, access, host, port, offered=offered) as running:
                    await running.lost()

            await with_worker(opened, settings.queue(), shown(), lasting=True)

    async def work() -> int:
        # Whoever ends a service sends SIGTERM, also where Ctrl-C is ignored. Answers under way are finished first.
        serving = asyncio.create_task(serve())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            if not serving.cancelled():  # it was this command itself that was ended
                serving.cancel()
                await asyncio.wait([serving])
            return exits.INTERRUPTED
        return exits.COMPLETE

    exits.run(work())


def _show_requests() -> None:
    """One line on stderr for each request, with its time."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    access_log.log.addHandler(handler)
    access_log.log.setLevel(logging.INFO)
    access_log.log.propagate = False


@click.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    help=f"{', '.join(GIVES)}, or a role that tools ask approvers for. More than one may be given.",
)
def token(name: str, roles: tuple[str, ...]) -> None:
    """Make a token for NAME: it is shown once, and its line for the token file goes to stdout.

    surefoot token Ana --role approve --role finance >> tokens.toml
    """
    if not re.fullmatch(tokens.NAMES, name):
        raise click.UsageError(f"a name has 1 to 200 characters, no line breaks among them, and not: {name!r}")
    _refuse_slips(roles)
    secret = tokens.fresh()
    line = tokens.line(name, list(roles), secret)
    with exits.telling():
        tokens.parse(line)
    write(line)
    say(f"the token of {name}, which is shown this once and kept nowhere:\n\n    {secret}\n")
    if not any(role in GIVES for role in roles):
        say(f"none of its roles lets {name} see anything: give {', '.join(GIVES)} as well")


def _refuse_slips(roles: Sequence[str]) -> None:
    """A role that is nearly one of ours would open nothing, and nobody would see why. Raises `click.UsageError`."""
    for role in roles:
        near = difflib.get_close_matches(role.lower(), GIVES, 1, cutoff=LIKENESS)
        if role not in GIVES and near and near[0] not in roles:
            raise click.UsageError(
                f"--role {role} opens nothing here, and is nearly {near[0]}: did you mean that? If tools ask for a role"
                f" that is called {role}, give --role {near[0]} as well, or name it differently"
            )
