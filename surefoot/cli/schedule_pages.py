"""Schedules on a terminal: one as a page, many as a table. Times are those of this machine's clock."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from surefoot.cli.pages import err, out, print_table, short
from surefoot.schedules import ScheduleView, Terms

MESSAGE_CHARS = 60


def print_schedule(view: ScheduleView) -> None:
    """One schedule, in a few lines."""
    page = out()
    state = ("  paused", "yellow") if view.paused else ("  active", "green")
    page.print(Text.assemble((view.schedule, "bold"), state, f"  {times(view.terms)}"))
    if view.note:
        page.print(Text(view.note))
    where = f" (in queue {view.queue})" if view.queue else ""
    page.print(Text(f"{view.agent}{where}: {short(view.message, MESSAGE_CHARS)}"))
    for at in view.next:
        page.print(Text(f"  next   {local(at)}"))
    for each in view.recent:
        page.print(Text(f"  fired  {local(each.due_at)}  {each.job}"))
    if view.fired is not None:
        page.print(Text(f"fired {view.fired:,}, skipped {view.skipped or 0:,}, missed {view.missed or 0:,}"))


def print_schedules(views: Sequence[ScheduleView]) -> None:
    if not views:
        err().print("No schedules yet. Make one: surefoot schedule create SCHEDULE AGENT INPUT --cron '0 6 * * *'")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("schedule", "agent", "state", "times", "next"):
        table.add_column(column, overflow="fold")
    for view in views:
        table.add_row(
            Text(view.schedule),
            Text(view.agent),
            Text("paused" if view.paused else "active"),
            Text(times(view.terms)),
            Text(local(view.next[0]) if view.next and not view.paused else "-"),
        )
    print_table(table)


def times(terms: Terms) -> str:
    """When it fires, in a line."""
    parts = list(terms.cron)
    if terms.every is not None:
        parts.append(f"every {terms.every}")
    text = ", ".join(parts)
    return f"{text} ({terms.timezone})" if terms.timezone else text


def local(at: datetime) -> str:
    return at.astimezone().isoformat(sep=" ", timespec="seconds")
