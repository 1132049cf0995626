"""`surefoot schedule set`: changes what is named of a schedule, and leaves the rest as it is."""

from typing import Any

import click

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.documents import emit, plain
from surefoot.cli.models import check_agent, check_queue
from surefoot.cli.run_options import input_from, limits_from
from surefoot.cli.schedule_options import scheduling
from surefoot.cli.schedule_pages import print_schedule
from surefoot.cli.session import app_option, app_path, json_option, session
from surefoot.settings import read_settings

CLEARED = {
    "cron": "cron",
    "every": "every",
    "jitter": "jitter",
    "timezone": "timezone",
    "start": "start",
    "end": "end",
    "limit": "limits",
    "model": "model",
    "tenant": "tenant",
    "tag": "tags",
    "priority": "priority",
    "weight": "weight",
    "queue": "queue",
}
"""What `--clear` takes away: the option's name, and the field's."""


@click.command("set")
@click.argument("schedule_id", metavar="SCHEDULE")
@click.option("--agent", help="Who does its jobs.")
@click.option("--input", "message", metavar="TEXT", help="What its jobs work on; '-' reads it from stdin.")
@scheduling
@click.option(
    "--clear", multiple=True, type=click.Choice(tuple(CLEARED)), help="Take this away; may be given several times."
)
@app_option
@json_option
def set_(
    schedule_id: str,
    agent: str | None,
    message: str | None,
    limits: tuple[str, ...],
    clear: tuple[str, ...],
    app: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Change what is named, from the next firing on; all else stays, and so do jobs that run.

    --cron takes the place of all that there were, --limit of the limit of its name. From `--cron` to `--every`:
    --every 6h --clear cron. Firings that were missed while no server ran are made up for within --catch-up.
    """
    named: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, ())}
    if (chosen := limits_from(limits)) is not None:
        named["limits"] = chosen
    cleared = {CLEARED[name] for name in clear}
    if both := sorted(name for name in clear if CLEARED[name] in named):
        raise click.UsageError(f"--{both[0]} is given a value and cleared: leave one of them out")
    changes = {**named, **dict.fromkeys(cleared), **({"agent": agent} if agent is not None else {})}
    if message is not None:
        changes["message"] = input_from(message)

    async def work() -> None:
        settings = read_settings(app=app_path(app))
        async with session(app) as opened:
            found = opened.client.schedules[schedule_id]
            before = await found.view()
            queue = changes.get("queue")
            if settings.embedded and (agent is not None or changes.get("model") is not None):
                check_agent(settings, agent or before.agent, changes.get("model", before.model), queue)
            elif settings.embedded and queue is not None:
                check_queue(settings, queue)
            await found.set(by=me(), **changes)
            view = await found.view()
        emit(plain(view)) if as_json else print_schedule(view)

    exits.run(work())
