"""Commands on schedules: make one, change it, see when it fires and what it fired, hold it, fire it now, delete it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.documents import emit, plain
from surefoot.cli.models import check_agent
from surefoot.cli.output import say
from surefoot.cli.run_options import checked_id, input_from, limits_from
from surefoot.cli.schedule_options import scheduling
from surefoot.cli.schedule_pages import print_schedule, print_schedules
from surefoot.cli.schedule_set import set_
from surefoot.cli.session import NoJobs, app_option, app_path, json_option, session
from surefoot.schedules import Schedule, Terms
from surefoot.settings import read_settings
from surefoot.texts import marks, quoted

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def schedule() -> None:
    """Jobs that are started again and again, at set times."""


schedule.add_command(set_)


@schedule.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@click.argument("agent")
@click.argument("input", required=False)
@scheduling
@click.option("--paused", is_flag=True, help="Fire only once it is resumed.")
@app_option
@json_option
def create(
    schedule_id: str,
    agent: str,
    input: str | None,
    limits: tuple[str, ...],
    model: str | None,
    tenant: str | None,
    tags: tuple[str, ...],
    priority: int | None,
    weight: float | None,
    queue: str | None,
    paused: bool,
    app: str | None,
    as_json: bool,
    **times: Any,
) -> None:
    """Start a job of AGENT on INPUT at each of these times.

    Firings that were missed while no server ran are made up for within --catch-up. The embedded server runs while
    somebody uses it: for its schedules keep `surefoot dev` up. The same command again finds the same schedule.
    """
    chosen = limits_from(limits)
    checked_id(schedule_id)
    with exits.telling():
        marks(tenant, tags)
        terms = Terms(**{name: value for name, value in times.items() if value not in (None, ())})
        settings = read_settings(app=app_path(app))
        if settings.embedded:
            check_agent(settings, agent, model, queue)
    message = input_from(input)

    async def work() -> None:
        async with session(app, new=True) as opened:
            made = await opened.client.schedules.create(
                schedule_id,
                agent,
                message,
                terms,
                limits=chosen,
                model=model,
                tenant=tenant,
                tags=tags,
                priority=priority,
                weight=weight,
                queue=queue,
                by=me(),
                paused=paused,
            )
            await _show(made, as_json)
        if settings.embedded:
            say("the embedded server fires it while it runs: keep `surefoot dev` up")

    exits.run(work())


async def _show(made: Schedule, as_json: bool) -> None:
    view = await made.view()
    emit(plain(view)) if as_json else print_schedule(view)


@schedule.command("list")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@json_option
def list_(limit: int, as_json: bool) -> None:
    """All schedules, with when they fire next."""

    async def work() -> None:
        try:
            async with session() as opened:
                views = await opened.client.schedules.list(limit=limit)
        except NoJobs:
            views = []
        emit([plain(view) for view in views]) if as_json else print_schedules(views)

    exits.run(work())


def on_a_schedule(command: F) -> F:
    """The argument and the options of every command on one schedule."""
    for option in (json_option, app_option, click.argument("schedule_id", metavar="SCHEDULE")):
        command = option(command)
    return command


@schedule.command()
@on_a_schedule
def show(schedule_id: str, app: str | None, as_json: bool) -> None:
    """How a schedule stands: when it fires next, and the last jobs that it started."""

    async def work() -> None:
        async with session(app) as opened:
            await _show(opened.client.schedules[schedule_id], as_json)

    exits.run(work())


@schedule.command()
@click.option("--reason", help="Shown with the schedule.")
@on_a_schedule
def pause(schedule_id: str, reason: str | None, app: str | None, as_json: bool) -> None:
    """Fire no more until it is resumed."""

    async def work() -> None:
        async with session(app) as opened:
            found = opened.client.schedules[schedule_id]
            await found.pause(by=me(), reason=reason)
            await _show(found, as_json)

    exits.run(work())


@schedule.command()
@on_a_schedule
def resume(schedule_id: str, app: str | None, as_json: bool) -> None:
    """Fire again; what would have fired meanwhile is not made up for."""

    async def work() -> None:
        async with session(app) as opened:
            found = opened.client.schedules[schedule_id]
            await found.resume(by=me())
            await _show(found, as_json)

    exits.run(work())


@schedule.command()
@on_a_schedule
def trigger(schedule_id: str, app: str | None, as_json: bool) -> None:
    """Fire now, once more than it would."""

    async def work() -> None:
        async with session(app) as opened:
            found = opened.client.schedules[schedule_id]
            await opened.worker_of(await found.queue())
            await found.trigger()
            await _show(found, as_json)
            say(f"see what it started: surefoot schedule show {quoted(schedule_id)}")

    exits.run(work())


@schedule.command()
@on_a_schedule
def delete(schedule_id: str, app: str | None, as_json: bool) -> None:
    """Fire never again; jobs that it started go on."""

    async def work() -> None:
        async with session(app) as opened:
            await opened.client.schedules[schedule_id].delete()
        emit({"schedule": schedule_id, "deleted": True}) if as_json else say(f"schedule {schedule_id} is deleted")

    exits.run(work())
