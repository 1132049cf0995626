"""Commands on batches: see how they stand, change how they run, read their results. The first is in batch_submit.py."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from surefoot.account import me
from surefoot.batches import Batch, Budget
from surefoot.batches.results import results as read_results
from surefoot.batches.retrying import retry as try_again
from surefoot.cli import exits
from surefoot.cli.batch_follow import follow_batch, goes_on, opened_batch
from surefoot.cli.batch_lanes import lanes
from surefoot.cli.batch_pages import print_batch, print_batches, print_next
from surefoot.cli.batch_submit import submit
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say, write_json
from surefoot.cli.session import NoJobs, app_option, json_option, session
from surefoot.texts import quoted
from workflows.counting import counted

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def batch() -> None:
    """Many jobs from one file, so many at a time."""


batch.add_command(submit)
batch.add_command(lanes)


@batch.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.option("--after", metavar="PLACE", help="Go on where an earlier page ended, which said so.")
@json_option
def list_(limit: int, after: str | None, as_json: bool) -> None:
    """List batches: those under way, then those that have ended, the last one first."""

    async def work() -> None:
        try:
            async with session() as opened:
                views, following = await opened.client.batches.page(limit=limit, after=after)
        except NoJobs:
            views, following = [], None
        emit([plain(view) for view in views]) if as_json else print_batches(views)
        if following is not None:
            say(f"more batches: surefoot batch list --limit {limit} --after {quoted(following)}")

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
        if as_json:
            emit(plain(view))
            return
        print_batch(view)
        print_next(view)

    exits.run(work())


@batch.command()
@on_a_batch
def watch(batch_id: str, app: str | None, as_json: bool) -> None:
    """Follow a batch until it has ended, or all that is left waits for people."""

    async def work() -> int:
        async with session(app) as opened:
            with goes_on(batch_id):
                return await follow_batch(await opened_batch(opened, batch_id), True, as_json)

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
            found = await opened_batch(opened, batch_id, look=True)
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
    """Try lines again that failed or are incomplete; their earlier attempts are kept.

    A batch that was given up also goes on with the lines that it had not begun.
    """
    kinds: list[Any] = [kind for kind, wanted in (("failed", failed), ("incomplete", incomplete)) if wanted]

    async def work() -> None:
        async with session(app) as opened:
            found = await opened_batch(opened, batch_id)
            count = await try_again(found, kinds or ("failed", "incomplete"), custom_ids or None)
        none = "none of its lines is to be tried again; name one that ended otherwise: --line CUSTOM_ID"
        said = f"goes on with {counted(count, 'line')}" if count else none
        emit({"batch": batch_id, "again": count}) if as_json else say(f"{batch_id}: {said}")

    exits.run(work())


def _send(batch_id: str, app: str | None, send: Callable[[Batch], Awaitable[None]], done: str) -> None:
    async def work() -> None:
        async with session(app) as opened:
            await send(opened.client.batches[batch_id])
            await opened_batch(opened, batch_id)
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
    runs = f"runs {counted(number, 'job')} at a time"
    _send(batch_id, app, lambda found: found.set_concurrency(number, by=me()), runs)


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
