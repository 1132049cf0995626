"""Commands that follow a job to its end: run, reply, watch."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from activities.apps import load_app
from surefoot.cli import exits
from surefoot.cli.documents import emit, job_document
from surefoot.cli.follow import Approval, follow
from surefoot.cli.session import Session, app_option, json_option, me, needs_app, say, session, with_worker
from surefoot.job import Job
from workflows.contracts import Limits

F = TypeVar("F", bound=Callable[..., Any])


def following(command: F) -> F:
    """The options of every command that follows a job."""
    options = (
        click.option(
            "--limit", "limits", multiple=True, metavar="NAME=VALUE", help=f"{', '.join(Limits.model_fields)}"
        ),
        click.option("--model", help="Another model than the agent's."),
        click.option(
            "--approve",
            "approval",
            type=click.Choice(["ask", "none", "all"]),
            default="ask",
            show_default=True,
            help="Who decides on write tools: you on this terminal, nobody here, or yes to all.",
        ),
        click.option("--detach", is_flag=True, help="Print the job's id and leave; it goes on in the background."),
        app_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def limits_from(texts: tuple[str, ...]) -> Limits | None:
    """`rounds=3` and the like; raises `click.UsageError`."""
    values: dict[str, str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in Limits.model_fields:
            raise click.UsageError(
                f"--limit {text}: write NAME=VALUE with NAME one of {', '.join(Limits.model_fields)}"
            )
        values[name] = None if value.lower() == "none" else value
    try:
        return Limits.model_validate(values) if values else None
    except ValidationError as error:
        first = error.errors()[0]
        raise click.UsageError(f"--limit {first['loc'][0]}={first['input']}: {first['msg']}") from None


def input_from(text: str | None) -> str:
    """The input of a job: the argument, or what comes in on stdin."""
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise click.UsageError("no input: give it as an argument, or '-' to read it from stdin")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


@click.command()
@click.argument("agent")
@click.argument("input", required=False)
@click.option("--id", "id_", metavar="JOB", help="The job's id. The same id and input find the same job again.")
@following
def run(
    agent: str,
    input: str | None,
    id_: str | None,
    limits: tuple[str, ...],
    model: str | None,
    approval: Approval,
    detach: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Start a job of AGENT on INPUT, follow it, ask for approvals, and print its answer."""
    chosen, message = limits_from(limits), input_from(input)

    async def work() -> int:
        async with session(app) as opened:
            needs_app(opened)
            if opened.app is not None:
                load_app(opened.app).agent(agent)  # a wrong name is told before anything starts

            async def start() -> Job:
                return await opened.client.start(agent, message, id=id_, limits=chosen, model=model, by=me())

            return await _go(opened, start, opened.settings.queue(), approval, detach, as_json)

    exits.run(work())


@click.command()
@click.argument("job")
@click.argument("text", required=False)
@following
def reply(
    job: str,
    text: str | None,
    limits: tuple[str, ...],
    model: str | None,
    approval: Approval,
    detach: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Go on with a job that has ended, in any state, with a new allowance."""
    chosen, message = limits_from(limits), input_from(text)

    async def work() -> int:
        async with session(app) as opened:
            queue = await opened.client.job(job).queue()

            async def start() -> Job:
                return await opened.client.reply(job, message, limits=chosen, model=model, by=me())

            return await _go(opened, start, queue, approval, detach, as_json)

    exits.run(work())


async def _go(
    opened: Session, start: Callable[[], Awaitable[Job]], queue: str, approval: Approval, detach: bool, as_json: bool
) -> int:
    if detach:
        await opened.background_worker(queue)
        job = await start()
        if as_json:
            emit(job_document(await job.view()))
        else:
            click.echo(job.id)
        say(f"follow it with: surefoot watch {job.id}")
        return exits.COMPLETE

    async def start_and_follow() -> int:
        job = await start()
        say(f"job {job.id}")
        return await follow(job, approval=approval, as_json=as_json, quiet=as_json)

    return await with_worker(opened, queue, start_and_follow())


@click.command()
@click.argument("job")
@app_option
@json_option
def watch(job: str, app: str | None, as_json: bool) -> None:
    """Follow a job live until it ends, and ask for approvals if you are at a terminal."""

    async def work() -> int:
        async with session(app) as opened:
            handle = opened.client.job(job)
            queue = await handle.queue()
            return await with_worker(opened, queue, follow(handle, approval="ask", as_json=as_json, quiet=as_json))

    exits.run(work())
