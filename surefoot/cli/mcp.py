"""`surefoot mcp`: an MCP server on stdin and stdout, for the jobs of one Temporal server.

stdout belongs to the protocol: nothing else may be written there, not by the app file and not by a worker.
"""

import importlib.util

import click

from surefoot.account import me, my_roles
from surefoot.cli import exits
from surefoot.cli.session import app_option, load, needs_app, session, with_worker


@click.command()
@app_option
@click.option("--as", "name", metavar="NAME", help="Who starts jobs and decides. Default: this account's name.")
@click.option("--allow-decisions", is_flag=True, help="Also approve, deny and answer, in the name given by --as.")
def mcp(app: str | None, name: str | None, allow_decisions: bool) -> None:
    """Serve jobs over the Model Context Protocol, on stdin and stdout, until stdin ends.

    Another program's model can start jobs, follow them and read what came of them. It can decide on what waits for a
    person only with --allow-decisions; then whatever it decides counts as decided by NAME.
    """
    if importlib.util.find_spec("mcp") is None:
        raise click.ClickException("the package mcp is not installed: pip install 'surefoot[mcp]'")
    if allow_decisions and not name:
        raise click.UsageError("--allow-decisions needs --as NAME: in whose name the decisions count")

    async def work() -> None:
        from surefoot.mcp.server import create_server

        async with session(app, new=True) as opened:
            settings = opened.settings
            agents = list(load(needs_app(settings)).agents) if settings.embedded else []
            server = create_server(
                opened.client, by=name or me(), roles=my_roles(), decides=allow_decisions, agents=agents
            )
            await with_worker(opened, opened.settings.queue(), server.run_stdio_async())

    exits.run(work())
