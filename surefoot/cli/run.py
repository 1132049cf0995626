"""Commands that follow a job to its end: run, reply, fork, watch."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.documents import emit, job_document
from surefoot.cli.follow import Approval, follow
from surefoot.cli.models import check_agent, check_models, check_queue
from surefoot.cli.output import say, write
from surefoot.cli.session import (
    Session,
    app_option,
    app_path,
    json_option,
    load,
    session,
    with_worker,
)
from surefoot.cli.starting import Start
from surefoot.cli.times import LENGTH, MOMENT
from surefoot.descendants import descendants
from surefoot.errors import NoWorker, WrongValue
from surefoot.job import Job
from surefoot.settings import read_settings
from surefoot.texts import marks, quoted
from surefoot.times import until
from workflows.contracts import JobView, Limits
from workflows.faults import worded

F = TypeVar("F", bound=Callable[..., Any])
MOST_ID_BYTES = 1000
LOOK_SECONDS = 3.0
"""How long `--detach` waits to see where the job stands."""


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


def ranking(command: F) -> F:
    """The options that say which jobs go before others."""
    options = (
        click.option("--priority", type=click.IntRange(1, 5), help="1 goes before all others, 5 behind; 3 is usual."),
        click.option("--weight", type=click.FloatRange(0.001, 1000), help="The tenant's share beside other tenants."),
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
        raise click.UsageError(f"--limit {first['loc'][0]}={first['input']}: {worded(first)}") from None


def input_from(text: str | None) -> str:
    """The message of a person: the argument, or what comes in on stdin."""
    if text is None or text == "-":
        if text is None and sys.stdin.isatty():
            raise click.UsageError("no input: give it as an argument, or '-' to read it from stdin")
        read = sys.stdin.buffer.read()
        text = read.decode("utf-8", "replace")
        if text.encode() != read:
            say("the input is not UTF-8 throughout: what could not be read is marked with \N{REPLACEMENT CHARACTER}")
    if not text.strip():
        raise click.UsageError("the input is empty: give it as an argument, or '-' to read it from stdin")
    return text


def checked_id(id_: str | None) -> str | None:
    """An id that lists and commands can hold; raises `click.UsageError`."""
    if id_ is None:
        return None
    if not 0 < len(os.fsencode(id_.strip())) <= MOST_ID_BYTES:
        raise click.UsageError(f"--id has to have 1 to {MOST_ID_BYTES} bytes, this one has {len(os.fsencode(id_))}")
    if id_.startswith("-") or not id_.isprintable():
        raise click.UsageError(f"--id {id_!r}: it may not begin with a dash, nor hold what can't be printed")
    return id_


@click.command()
@click.argument("agent")
@click.argument("input", required=False)
@click.option("--id", "id_", metavar="JOB", help="The job's id. The same id and input find the same job again.")
@click.option("--tenant", help="For whom the job works: lists can be narrowed to it.")
@click.option("--tag", "tags", multiple=True, help="A word to find the job by; may be given several times.")
@click.option("--at", type=MOMENT, metavar="WHEN", help="Begin then: 2026-12-24T18:00. It is not followed.")
@click.option("--after", type=LENGTH, metavar="LENGTH", help="Begin after this time: 90s, 2h. It is not followed.")
@click.option("--queue", help="Begin when this queue of the app file has a place for it.")
@ranking
@following
def run(
    agent: str,
    input: str | None,
    id_: str | None,
    tenant: str | None,
    tags: tuple[str, ...],
    at: datetime | None,
    after: timedelta | None,
    queue: str | None,
    priority: int | None,
    weight: float | None,
    limits: tuple[str, ...],
    model: str | None,
    approval: Approval,
    detach: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Start a job of AGENT on INPUT, follow it, ask for approvals, and print its answer."""
    chosen = limits_from(limits)
    start = Start(checked_id(id_))
    with start.told():
        with exits.telling():  # all that can be wrong is told before anything starts
            marks(tenant, tags)
            delay = _delay(at, after)
            settings = read_settings(app=app_path(app))
            if settings.embedded:
                check_agent(settings, agent, model)
                check_queue(settings, queue)
        message = input_from(input)

    async def work() -> int:
        with start.told():
            async with session(app, new=True) as opened:

                async def begin() -> Job:
                    return await opened.client.start(
                        agent,
                        message,
                        id=id_,
                        limits=chosen,
                        model=model,
                        tenant=tenant,
                        tags=tags,
                        by=me(),
                        delay=delay,
                        queue=queue,
                        priority=priority,
                        weight=weight,
                    )

                leaves = detach or delay is not None
                return await _go(opened, start.of(begin), settings.queue(), approval, leaves, as_json)

    exits.run(work())


def _delay(at: datetime | None, after: timedelta | None) -> timedelta | None:
    """How long a job has to wait, by either option. Raises `WrongValue`."""
    if at is not None and after is not None:
        raise WrongValue("--at and --after both say when the job begins; give one of them")
    return until(at) if at is not None else after


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
    chosen = limits_from(limits)
    start = Start(job, f"nothing was sent to job {job}")
    with start.told():
        message = input_from(text)

    async def work() -> int:
        with start.told():
            async with session(app) as opened:
                queue = await _queue_of(opened, job, model)

                async def begin() -> Job:
                    return await opened.client.reply(job, message, limits=chosen, model=model, by=me())

                return await _go(opened, start.of(begin), queue, approval, detach, as_json)

    exits.run(work())


@click.command()
@click.argument("job")
@click.argument("text", required=False)
@click.option(
    "--round", "number", type=click.IntRange(0), required=True, help="Go on after this round (0: before any)."
)
@click.option("--id", "id_", metavar="JOB", help="The new job's id.")
@following
def fork(
    job: str,
    text: str | None,
    number: int,
    id_: str | None,
    limits: tuple[str, ...],
    model: str | None,
    approval: Approval,
    detach: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Start a new job that has said what JOB had after round N, and goes on from there: told TEXT, or asked again."""
    chosen = limits_from(limits)
    start = Start(checked_id(id_))
    with start.told():
        message = input_from(text) if text is not None else None

    async def work() -> int:
        with start.told():
            async with session(app) as opened:
                await opened.worker_for(job, look=True)
                queue = await _queue_of(opened, job, model)

                async def begin() -> Job:
                    return await opened.client.fork(
                        job, number, message, new_id=id_, limits=chosen, model=model, by=me()
                    )

                return await _go(opened, start.of(begin), queue, approval, detach, as_json)

    exits.run(work())


async def _queue_of(opened: Session, job: str, model: str | None) -> str:
    """The queue that the workers of `job` serve. A `model` that they could not run is told now."""
    queue = await opened.client.job(job).queue()
    file = opened.app_of(queue) if opened.settings.embedded else None
    if model is not None and file is not None:
        check_models(load(file), [model])
    return queue


async def _go(
    opened: Session, start: Callable[[], Awaitable[Job]], queue: str, approval: Approval, detach: bool, as_json: bool
) -> int:
    if detach:
        if opened.settings.embedded:
            await opened.background_worker(queue)
        return await _left(opened, await start(), as_json)

    async def start_and_follow() -> int:
        job = await start()
        say(f"job {job.id}")
        return await follow(job, approval=approval, as_json=as_json)

    return await with_worker(opened, queue, start_and_follow())


async def _left(opened: Session, job: Job, as_json: bool) -> int:
    """Print a job that goes on without us. One found again by its id may have got anywhere, also to its end."""
    if not as_json:
        write(job.id)
    say(f"follow it with: surefoot watch {quoted(job.id)}")
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            view = await job.view()
            others = await descendants(job, view)
    except (NoWorker, TimeoutError):  # it begins when a worker is up
        description = await opened.client.temporal.get_workflow_handle(job.id).describe()
        view = JobView(job=job.id, agent=await description.memo_value("agent", "?"), state="running")
        others = []
    if view.begins_at is not None:
        say(f"it begins at {view.begins_at.astimezone().isoformat(sep=' ', timespec='seconds')}")
    if as_json:
        emit(job_document(view, others))
    if view.outcome is not None:
        return exits.code_of(view.outcome)
    return exits.WAITING if any(each.state == "waiting" for each in (view, *others)) else exits.COMPLETE


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
            return await with_worker(opened, queue, follow(handle, approval="ask", as_json=as_json))

    exits.run(work())
