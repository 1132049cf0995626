"""Commands that only look: jobs, show, transcript, inbox."""

import os
import shlex
from pathlib import Path

import click

from activities.artifacts import ArtifactMissing, Artifacts
from surefoot.cli import exits
from surefoot.cli.documents import emit, inbox_document, job_document, plain
from surefoot.cli.entries import print_audit, print_entries
from surefoot.cli.output import fail, say, write_answer
from surefoot.cli.pages import print_inbox, print_job, print_jobs, print_row
from surefoot.cli.session import NoJobs, app_option, json_option, session
from surefoot.client import Client
from surefoot.descendants import descendants
from surefoot.errors import NoWorker
from surefoot.inbox import UNREAD, InboxPage
from surefoot.lists import JobRow
from workflows.batches.contracts import LineClass
from workflows.contracts import Entry, Result


@click.command()
@click.option("--agent", help="Only jobs of this agent.")
@click.option(
    "--state",
    type=click.Choice(["running", "waiting", "batched", "paused", "queued", "ended"]),
    help="Only jobs in this state.",
)
@click.option("--status", help="Only jobs that ended so: complete, hit_cost_cap, …")
@click.option("--tenant", help="Only jobs of this tenant.")
@click.option("--tag", help="Only jobs with this tag.")
@click.option("--batch", metavar="BATCH", help="Only jobs of this batch.")
@click.option("--queue", help="Only jobs that were started in this queue.")
@click.option(
    "--end", type=click.Choice(["done", "incomplete", "failed"]), help="Only jobs that ended so, as batches say."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@json_option
def jobs(
    agent: str | None,
    state: str | None,
    status: str | None,
    tenant: str | None,
    tag: str | None,
    batch: str | None,
    queue: str | None,
    end: LineClass | None,
    limit: int,
    as_json: bool,
) -> None:
    """List jobs: those under way, then those that have ended, the last one first."""
    chosen = any((agent, state, status, tenant, tag, batch, queue, end))

    async def work() -> None:
        try:
            async with session() as opened:
                rows = await opened.client.jobs(
                    agent=agent,
                    state=state,
                    status=status,
                    tenant=tenant,
                    tag=tag,
                    batch=batch,
                    queue=queue,
                    end=end,
                    limit=limit,
                )
        except NoJobs:
            rows = []
        emit([plain(row) for row in rows]) if as_json else print_jobs(rows, chosen=chosen)

    exits.run(work())


@click.command()
@click.argument("job")
@app_option
@json_option
def show(job: str, app: str | None, as_json: bool) -> None:
    """The state of one job: rounds, what waits, usage, and how it ended."""

    async def work() -> int:
        async with session(app) as opened:
            handle = opened.client.job(job)
            try:
                if not await handle.has_ended():
                    await opened.worker_for(job, look=True)
                view = await handle.view()
                others = await descendants(handle, view)
            except NoWorker as error:
                return _silent(await handle.row(), error, as_json)
        emit(job_document(view, others)) if as_json else print_job(view, others)
        return exits.COMPLETE

    exits.run(work())


def _silent(row: JobRow, error: NoWorker, as_json: bool) -> int:
    """What the server itself knows of a job that no worker tells of."""
    if not as_json:
        print_row(row)
    text = f"{error}. This is what the server itself knows of the job; the rest comes with a worker"
    return fail(text, "NoWorker", exits.FAILED, **plain(row))


@click.command()
@click.argument("job")
@click.option("--call", help="Only the result of this call, whole, also where the model got it cut.")
@app_option
@json_option
def transcript(job: str, call: str | None, app: str | None, as_json: bool) -> None:
    """Everything said in a job by people, the model and the tools."""

    async def work() -> int:
        async with session(app) as opened:
            await opened.worker_for(job, look=True)
            entries = await opened.client.job(job).transcript()
            home = opened.settings.home
        if call is not None:
            return _print_result(entries, call, home, as_json)
        emit([plain(entry) for entry in entries]) if as_json else print_entries(entries)
        return exits.COMPLETE

    exits.run(work())


def _print_result(entries: list[Entry], call: str, home: Path, as_json: bool) -> int:
    """One result, whole: a cut one is fetched from where the worker kept it."""
    found = next((entry for entry in entries if isinstance(entry, Result) and entry.call == call), None)
    if found is None:
        known = ", ".join(entry.call for entry in entries if isinstance(entry, Result)) or "none"
        raise click.UsageError(f"no result of call {call!r} in this job; calls with results: {known}")
    if found.artifact is not None:
        try:
            whole = Artifacts.from_environment({**os.environ, "SUREFOOT_HOME": str(home)}).read(found.artifact)
        except ArtifactMissing as error:
            raise click.ClickException(str(error)) from None
        found = found.model_copy(update={"content": whole})
    emit(plain(found)) if as_json else write_answer(found.content)
    return exits.COMPLETE


@click.command()
@click.argument("job")
@app_option
@json_option
def audit(job: str, app: str | None, as_json: bool) -> None:
    """Who did what to a job, and when: decisions, reminders, grants, messages. Nothing of it can be changed."""

    async def work() -> None:
        async with session(app) as opened:
            await opened.worker_for(job, look=True)
            entries = await opened.client.job(job).audit()
        emit([plain(entry) for entry in entries]) if as_json else print_audit(entries)

    exits.run(work())


@click.command()
@click.option("--agent", help="Only calls of this agent's jobs.")
@click.option("--tenant", help="Only calls of this tenant's jobs.")
@click.option("--tool", help="Only calls of this tool.")
@click.option(
    "--limit", default=1000, show_default=True, type=click.IntRange(1, 10_000), help="How many jobs a page has."
)
@click.option("--after", metavar="PLACE", help="Go on where an earlier page ended, which said so.")
@json_option
def inbox(
    agent: str | None, tenant: str | None, tool: str | None, limit: int, after: str | None, as_json: bool
) -> None:
    """Every call that waits for a person, the oldest first."""

    async def work() -> None:
        try:
            async with session() as opened:
                page = await _inbox_page(opened.client, agent, tenant, tool, limit, after)
        except NoJobs:
            page = InboxPage(items=[])
        emit([inbox_document(item) for item in page.items]) if as_json else print_inbox(page.items)
        if page.after is not None:
            given = {"agent": agent, "tenant": tenant, "tool": tool, "limit": str(limit), "after": page.after}
            options = [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
            say(f"more jobs wait; the next page: {shlex.join(['surefoot', 'inbox', *options])}")

    exits.run(work())


async def _inbox_page(
    client: Client, agent: str | None, tenant: str | None, tool: str | None, jobs: int, after: str | None
) -> InboxPage:
    """The first page behind `after` that has something on it."""
    while True:
        page = await client.inbox_page(jobs=jobs, after=after, agent=agent, tenant=tenant)
        # One that can't be read may be a call of any tool: whoever decides must know that it waits.
        items = [item for item in page.items if tool is None or item.tool in (tool, UNREAD)]
        if items or page.after is None:
            return InboxPage(items=sorted(items, key=lambda item: item.asked_at), after=page.after)
        after = page.after
