"""Commands on batches: submit a file of jobs, see how they stand, change how they run, read their results."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from temporalio.client import WorkflowExecutionStatus

from surefoot.account import me
from surefoot.batches import BadLine, Batch, Budget
from surefoot.batches.checking import reading
from surefoot.batches.results import results as read_results
from surefoot.batches.retrying import retry as try_again
from surefoot.cli import exits
from surefoot.cli.batch_pages import Progress, print_batch, print_batches
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say, write_json
from surefoot.cli.run import checked_id, limits_from
from surefoot.cli.session import NoJobs, Session, app_option, json_option, session
from surefoot.texts import marks, quoted
from workflows.batch_contracts import BatchOrder

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 20
LANES = ("sync", "flex", "batch", "auto")


@click.group()
def batch() -> None:
    """Many jobs from one file, so many at a time."""


@batch.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--agent", help="Who does the lines that name no agent.")
@click.option("--id", "id_", metavar="BATCH", help="The batch's id. Without one the same file is the same batch.")
@click.option("--csv", "template", metavar="TEMPLATE", help="FILE is CSV; {column} in the template is the row's value.")
@click.option("--skip-bad", is_flag=True, help="Go on without the lines that can't be jobs.")
@click.option("--check", "only_check", is_flag=True, help="Check the file and start nothing.")
@click.option("--concurrency", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Jobs at a time.")
@click.option("--limit", "limits", multiple=True, metavar="NAME=VALUE", help="A limit of each job, as for run.")
@click.option("--model", help="Another model than the agent's.")
@click.option("--tenant", help="For whom the jobs work.")
@click.option("--tag", "tags", multiple=True, help="A word to find the jobs by; may be given several times.")
@click.option("--budget-usd", type=click.FloatRange(0), help="No more jobs begin once these have cost so much.")
@click.option("--budget-tokens", type=click.IntRange(0), help="No more jobs begin once these have used so many.")
@click.option("--priority", type=click.IntRange(1, 5), help="1 goes before all others, 5 behind them; 3 is usual.")
@click.option("--weight", type=click.FloatRange(0.001, 1000), help="Its share beside other tenants' batches.")
@click.option(
    "--lane",
    type=click.Choice(LANES),
    default="sync",
    show_default=True,
    help="How models are asked: at once, at OpenAI's flex tier, in provider batches at half price, or as is cheapest.",
)
@click.option("--within", type=click.FloatRange(0, min_open=True), metavar="HOURS", help="Then no batch is waited for.")
@click.option("--watch", "watched", is_flag=True, help="Follow it to its end.")
@app_option
@json_option
def submit(
    file: str,
    agent: str | None,
    id_: str | None,
    template: str | None,
    skip_bad: bool,
    only_check: bool,
    concurrency: int,
    limits: tuple[str, ...],
    model: str | None,
    tenant: str | None,
    tags: tuple[str, ...],
    budget_usd: float | None,
    budget_tokens: int | None,
    priority: int | None,
    weight: float | None,
    lane: Any,
    within: float | None,
    watched: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Check FILE ('-' is stdin) line by line, then start a job for each of its lines.

    A line is a JSON object: {"custom_id", "input", "agent"?, "limits"?, "metadata"?}. FILE may be compressed (.gz).
    """
    chosen, budget = limits_from(limits), Budget(tokens=budget_tokens, cost_usd=budget_usd)
    checked_id(id_)

    async def work() -> int:
        seconds = within * 3600 if within else None
        order = BatchOrder(
            agent=agent,
            limits=chosen,
            model=model,
            by=me(),
            priority=priority,
            weight=weight,
            lane=lane,
            within=seconds,
            **marks(tenant, tags),
        )
        with reading(file, agent=agent, template=template) as found:
            _tell_bad(found.bad, found.bad_count)
            if only_check or (found.bad and not skip_bad):
                return _checked(found.good, found.bad_count, only_check, as_json)
            async with session(app, new=True) as opened:
                batches = opened.client.batches
                started = await batches.submit_checked(found, order, id=id_, concurrency=concurrency, budget=budget)
                await opened.worker_of(opened.client.task_queue)
                return await _follow(started, watched, as_json)

    exits.run(work())


async def _opened(session: Session, id: str, *, look: bool = False) -> Batch:
    """The batch, with a worker for it unless it has ended and is only to be looked at."""
    found = session.client.batches[id]
    description = await found.describe()
    if not look or description.status == WorkflowExecutionStatus.RUNNING:
        await session.worker_of(description.task_queue, look=look)
    return found


def _tell_bad(bad: list[BadLine], count: int) -> None:
    for line in bad[:SHOWN]:
        say(str(line))
    if count > SHOWN:
        say(f"… and {count - SHOWN:,} more lines that can't be jobs")


def _checked(good: int, bad: int, only_check: bool, as_json: bool) -> int:
    if as_json:
        emit({"good": good, "bad": bad})
    say(f"{good:,} lines can be jobs, {bad:,} can't; nothing was started")
    if bad and not only_check:
        say("go on without these: --skip-bad")
    return exits.WRONG_USE if bad else exits.COMPLETE


async def _follow(batch: Batch, watched: bool, as_json: bool) -> int:
    """Show how it stands, to its end if it is `watched`; the exit code."""
    view = await batch.view()
    if watched:
        with Progress(quiet=as_json) as progress:
            async for view in batch.follow():
                progress.show(view)
                if view.state == "waiting":
                    break
    emit(plain(view)) if as_json else print_batch(view)
    if not watched:
        say(f"follow it with: surefoot batch watch {quoted(batch.id)}")
        return exits.COMPLETE
    if view.state == "waiting":
        say("what is left waits for people: surefoot inbox")
        return exits.WAITING
    return exits.FAILED if view.failed else exits.NOT_DONE if view.incomplete or view.queued else exits.COMPLETE


@batch.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@json_option
def list_(limit: int, as_json: bool) -> None:
    """The newest batches."""

    async def work() -> None:
        try:
            async with session() as opened:
                views = await opened.client.batches.list(limit=limit)
        except NoJobs:
            views = []
        emit([plain(view) for view in views]) if as_json else print_batches(views)

    exits.run(work())


def on_a_batch(command: F) -> F:
    """The argument and the options of every command on one batch."""
    for option in (json_option, app_option, click.argument("batch_id", metavar="BATCH")):
        command = option(command)
    return command


@batch.command()
@on_a_batch
def show(batch_id: str, app: str | None, as_json: bool) -> None:
    """How a batch stands."""

    async def work() -> None:
        async with session(app) as opened:
            view = await opened.client.batches[batch_id].view()
        emit(plain(view)) if as_json else print_batch(view)

    exits.run(work())


@batch.command()
@on_a_batch
def watch(batch_id: str, app: str | None, as_json: bool) -> None:
    """Follow a batch until it has ended, or all that is left waits for people."""

    async def work() -> int:
        async with session(app) as opened:
            found = await _opened(opened, batch_id)
            return await _follow(found, True, as_json)

    exits.run(work())


@batch.command()
@click.option("--all", "whole", is_flag=True, help="Also the lines that are not done yet.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of stdout.")
@click.argument("batch_id", metavar="BATCH")
@app_option
def results(batch_id: str, whole: bool, output: Path | None, app: str | None) -> None:
    """What became of each line, as JSONL in the order of the file; also while the batch runs."""

    async def work() -> None:
        async with session(app) as opened:
            found = await _opened(opened, batch_id, look=True)
            if output is None:
                async for row in read_results(found, whole=whole):
                    write_json(row.model_dump_json(exclude_none=True))
                return
            with output.open("w", encoding="utf-8") as file:
                async for row in read_results(found, whole=whole):
                    file.write(f"{row.model_dump_json(exclude_none=True)}\n")

    exits.run(work())


@batch.command()
@click.option("--failed", is_flag=True, help="Only lines that failed.")
@click.option("--incomplete", is_flag=True, help="Only lines that ended before they were done.")
@click.option("--line", "custom_ids", multiple=True, metavar="CUSTOM_ID", help="This line, however it ended.")
@on_a_batch
def retry(
    batch_id: str, failed: bool, incomplete: bool, custom_ids: tuple[str, ...], app: str | None, as_json: bool
) -> None:
    """Try lines again that failed or are incomplete; their earlier attempts are kept."""
    kinds: list[Any] = [kind for kind, wanted in (("failed", failed), ("incomplete", incomplete)) if wanted]

    async def work() -> None:
        async with session(app) as opened:
            found = await _opened(opened, batch_id)
            count = await try_again(found, kinds or ("failed", "incomplete"), custom_ids or None)
        emit({"batch": batch_id, "again": count}) if as_json else say(f"{batch_id}: {count:,} lines are tried again")

    exits.run(work())


def _send(batch_id: str, app: str | None, send: Callable[[Batch], Awaitable[None]], done: str) -> None:
    async def work() -> None:
        async with session(app) as opened:
            await send(opened.client.batches[batch_id])
            await _opened(opened, batch_id)
        say(f"{batch_id}: {done}")

    exits.run(work())


@batch.command()
@click.option("--reason", help="Shown to whoever looks at it.")
@click.argument("batch_id", metavar="BATCH")
@app_option
def pause(batch_id: str, reason: str | None, app: str | None) -> None:
    """Begin no more jobs for now; those that run go on."""
    _send(batch_id, app, lambda found: found.pause(by=me(), reason=reason), "begins no more jobs for now")


@batch.command()
@click.option("--budget-usd", type=click.FloatRange(0), help="Another budget, in place of the one that is spent.")
@click.option("--budget-tokens", type=click.IntRange(0), help="Another budget, in place of the one that is spent.")
@click.argument("batch_id", metavar="BATCH")
@app_option
def resume(batch_id: str, budget_usd: float | None, budget_tokens: int | None, app: str | None) -> None:
    """Begin jobs again."""
    given = budget_usd is not None or budget_tokens is not None
    budget = Budget(tokens=budget_tokens, cost_usd=budget_usd) if given else None
    _send(batch_id, app, lambda found: found.resume(by=me(), budget=budget), "goes on")


@batch.command()
@click.argument("batch_id", metavar="BATCH")
@click.argument("number", type=click.IntRange(1, 10_000))
@app_option
def concurrency(batch_id: str, number: int, app: str | None) -> None:
    """Let NUMBER jobs run at a time from now on."""
    _send(batch_id, app, lambda found: found.set_concurrency(number, by=me()), f"runs {number} jobs at a time")


@batch.command()
@click.option(
    "--running",
    type=click.Choice(["finish", "stop", "cancel"]),
    default="finish",
    show_default=True,
    help="What becomes of the jobs that run: they finish, are told to stop, or are ended now.",
)
@click.argument("batch_id", metavar="BATCH")
@app_option
def cancel(batch_id: str, running: Any, app: str | None) -> None:
    """Give a batch up: no more of its jobs begin."""
    _send(batch_id, app, lambda found: found.cancel(running, by=me()), "is given up")
