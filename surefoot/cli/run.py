"""Commands that follow a job to its end: run, reply, fork, watch."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import click

from surefoot.account import me
from surefoot.cli import exits
from surefoot.cli.documents import emit, job_document
from surefoot.cli.follow import Approval, follow
from surefoot.cli.models import check_agent, check_models
from surefoot.cli.output import say, write
from surefoot.cli.run_options import checked_id, following, input_from, limits_from, ranking
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
from workflows.contracts import JobView

LOOK_SECONDS = 3.0
"""How long `--detach` waits to see where the job stands."""


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
                check_agent(settings, agent, model, queue)
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
