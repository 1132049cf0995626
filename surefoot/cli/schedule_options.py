"""The options that making and changing a schedule share: when it fires, and how its jobs are started."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from surefoot.cli.run_options import ranking
from surefoot.cli.times import LENGTH, MOMENT
from surefoot.schedules import Overlap

F = TypeVar("F", bound=Callable[..., Any])

TIMES = (
    click.option("--cron", multiple=True, metavar="EXPR", help="'0 6 * * 1-5': minute, hour, day, month, weekday."),
    click.option("--every", type=LENGTH, metavar="LENGTH", help="15m, 6h: counted from 1970 in UTC, not from now."),
    click.option("--jitter", type=LENGTH, metavar="LENGTH", help="Each firing is late by a random time up to this."),
    click.option("--timezone", metavar="ZONE", help="Where --cron is meant, such as Europe/Berlin; UTC by default."),
    click.option("--start", type=MOMENT, metavar="WHEN", help="Not before this moment."),
    click.option("--end", type=MOMENT, metavar="WHEN", help="Not after this moment."),
    click.option(
        "--overlap",
        type=click.Choice(get_args(Overlap)),
        help="What becomes of a firing while the job of an earlier one runs, or waits; by default it is skipped.",
    ),
    click.option("--catch-up", type=LENGTH, metavar="LENGTH", help="See below; 1d by default."),
)
STARTS = (
    click.option("--limit", "limits", multiple=True, metavar="NAME=VALUE", help="A limit of each job, as for run."),
    click.option("--model", help="Another model than the agent's."),
    click.option("--tenant", help="For whom the jobs work."),
    click.option("--tag", "tags", multiple=True, help="A word to find the jobs by; may be given several times."),
    ranking,
    click.option("--queue", help="Its jobs begin when this queue of the app file has a place for them."),
)


def scheduling(command: F) -> F:
    """All of them, for one command."""
    for option in reversed((*TIMES, *STARTS)):
        command = option(command)
    return command
