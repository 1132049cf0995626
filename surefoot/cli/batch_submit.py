"""`surefoot batch submit`: a file is checked from its first line to its last, then its batch is started.

The file is read before there is an event loop, so that Ctrl-C ends that at once, also while stdin says nothing.
"""

import asyncio
import sys
from typing import Any

import click

from activities.apps import App
from surefoot.account import me
from surefoot.batches import BadLine, Budget
from surefoot.batches.checking import Checked, reading
from surefoot.batches.files import NO_AGENT
from surefoot.cli import exits
from surefoot.cli.batch_follow import follow_batch, goes_on
from surefoot.cli.documents import emit
from surefoot.cli.models import check_asking, check_models
from surefoot.cli.output import say
from surefoot.cli.run_options import checked_id, limits_from
from surefoot.cli.session import app_option, app_path, json_option, load, needs_app, session
from surefoot.cli.starting import Start
from surefoot.settings import Settings, read_settings
from surefoot.texts import marks
from workflows.batches.contracts import BatchOrder
from workflows.counting import counted

SHOWN = 20
LANES = ("sync", "flex", "batch", "auto")


@click.command()
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
@click.option(
    "--within",
    type=click.FloatRange(0, min_open=True),
    metavar="HOURS",
    help="Then jobs wait for no provider batch any more and ask at once, at the full price.",
)
@click.option("--queue", help="The jobs begin when this queue of the app file has places for them.")
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
    queue: str | None,
    watched: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Check FILE ('-' is stdin) line by line, then start a job for each of its lines.

    A line is a JSON object: {"custom_id", "input", "agent"?, "limits"?, "metadata"?}. FILE may be compressed (.gz).
    """
    chosen, budget = limits_from(limits), Budget(tokens=budget_tokens, cost_usd=budget_usd)
    checked_id(id_)

    async def work(found: Checked) -> int:
        order = BatchOrder(
            agent=agent,
            limits=chosen,
            model=model,
            by=me(),
            priority=priority,
            weight=weight,
            lane=lane,
            within=within * 3600 if within else None,
            queue=queue,
            **marks(tenant, tags),
        )
        async with session(app, new=True) as opened:
            batches = opened.client.batches
            try:
                started = await batches.submit_checked(found, order, id=id_, concurrency=concurrency, budget=budget)
            except asyncio.CancelledError:
                say("\nthe batch may not have been started: submit the same file again, which never makes two of it")
                raise
            with goes_on(started.id):
                await opened.worker_of(opened.client.task_queue)
                return await follow_batch(started, watched, as_json)

    with exits.telling(), Start(id_).told():
        if file == "-" and sys.stdin.isatty():
            say("reading lines from this terminal; Ctrl-D ends them")
        settings = read_settings(app=app_path(app))
        checked_app = _checked_app(settings, agent, model, queue)
        agents = checked_app.agents if checked_app is not None else None
        with reading(file, agent=agent, template=template, agents=agents) as found:
            _tell_bad(found.bad, found.bad_count)
            if only_check or (found.bad and not skip_bad):
                sys.exit(_checked(found, agent, only_check, as_json))
            if settings.embedded:
                needs_app(settings)
            if checked_app is not None:
                check_asking(settings, checked_app, sorted({*found.agents, *([agent] if agent else [])}), model)
            exits.run(work(found))


def _tell_bad(bad: list[BadLine], count: int) -> None:
    for line in bad[:SHOWN]:
        say(str(line))
    if count > SHOWN:
        say(f"… and {count - SHOWN:,} more lines that can't be jobs")


def _checked_app(settings: Settings, agent: str | None, model: str | None, queue: str | None) -> App | None:
    """The app, which has all that is asked of it; None without an app file to look at."""
    if not settings.embedded or settings.app is None:
        return None
    app = load(settings.app)
    if agent is not None:
        app.agent(agent)
    if model is not None:
        check_models(app, [model])
    if queue is not None:
        app.queue(queue)
    return app


def _checked(found: Checked, agent: str | None, only_check: bool, as_json: bool) -> int:
    if as_json:
        emit({"good": found.good, "bad": found.bad_count})
    say(f"{counted(found.good, 'line')} can be jobs, {found.bad_count:,} can't; nothing was started")
    if agent is None and any(line.problem == NO_AGENT for line in found.bad):
        say("give all that name no agent one: --agent NAME")
    if not found.good and any("Invalid JSON" in line.problem for line in found.bad):
        say("is it JSONL? A file of rows needs --csv TEMPLATE, a compressed one a name that ends with .gz")
    if found.bad and not only_check:
        say("go on without the bad ones: --skip-bad")
    return exits.WRONG_USE if found.bad else exits.COMPLETE
