"""`surefoot batch lanes`: what waits for provider batches, and letting a lane go on that ran out of credit."""

import click
from rich.table import Table
from rich.text import Text

from surefoot.account import me
from surefoot.batches.lanes import LaneView, hold_lane, list_lanes, resume_lane
from surefoot.cli import exits
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say
from surefoot.cli.pages import err, out, print_table
from surefoot.cli.session import app_option, json_option, session
from surefoot.errors import WrongValue


@click.command()
@click.option("--resume", metavar="LANE", help="Let this lane send again at once.")
@click.option("--pause", metavar="LANE", help="Send nothing more of this lane for now.")
@app_option
@json_option
def lanes(resume: str | None, pause: str | None, app: str | None, as_json: bool) -> None:
    """The lanes that collect requests for provider batches (batch submit --lane batch)."""

    async def work() -> None:
        if resume and pause:
            raise WrongValue("a lane is either paused or resumed: give --pause LANE or --resume LANE, not both")
        async with session(app) as opened:
            temporal = opened.client.temporal
            await opened.worker_of(opened.client.task_queue)
            if resume:
                await resume_lane(temporal, resume, by=me())
                say(f"{resume}: sends again")
            elif pause:
                await hold_lane(temporal, pause, by=me())
                say(f"{pause}: sends nothing for now")
            views = await list_lanes(temporal, opened.client.task_queue)
        emit([plain(view) for view in views]) if as_json else print_lanes(views)

    exits.run(work())


def print_lanes(views: list[LaneView]) -> None:
    if not views:
        err().print("No lanes yet. They come with the first request of: surefoot batch submit FILE --lane batch")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("lane", "waiting", "sent", "answered", "cost", "saved"):
        table.add_column(column, overflow="fold")
    for view in views:
        books = view.books
        numbers = (f"{view.waiting:,}", f"{view.sent:,} in {view.open_batches}", f"{books.answered:,}")
        table.add_row(Text(view.lane), *numbers, f"${books.cost_usd:.4f}", f"${books.saved_usd:.4f}")
    print_table(table)
    for view in views:
        if view.hold:
            again = f"; tries again at {view.hold_until:%H:%M} UTC" if view.hold_until else ""
            text = f"{view.lane} is held up: {view.hold}{again}; at once: surefoot batch lanes --resume {view.lane}"
            out().print(Text(text, "yellow"))
