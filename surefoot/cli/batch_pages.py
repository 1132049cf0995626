"""Batches on a terminal: one as a page, many as a table, one under way as a line that changes."""

import sys
from collections.abc import Sequence
from types import TracebackType

from rich.live import Live
from rich.table import Table
from rich.text import Text

from surefoot.batches import BatchView
from surefoot.cli.output import say
from surefoot.cli.pages import age, err, out, print_table
from surefoot.texts import quoted
from workflows.counting import counted

KINDS = ("queued", "running", "waiting", "batched", "done", "incomplete", "failed", "forgotten")
SAID = {"waiting": "waiting for a person", "batched": "waiting for a provider batch"}
STYLES = {
    "done": "green",
    "failed": "red",
    "forgotten": "red",
    "incomplete": "yellow",
    "waiting": "magenta",
    "batched": "blue",
    "running": "cyan",
}


def print_batch(view: BatchView) -> None:
    """One batch, in a few lines."""
    page = out()
    state = f"{view.state}, given up" if view.state == "ended" and view.ending else view.state
    page.print(Text.assemble((view.batch, "bold"), f"  {state}", f"  {counted(view.lines, 'line')}"))
    page.print(counts(view))
    if view.state == "held":
        page.print(Text(held(view), "yellow"))
    elif view.state == "ended" and view.ending is None and view.hold:
        page.print(Text(view.hold, "yellow"))
    page.print(Text(spent(view)))
    page.print(Text(f"{view.concurrency} at a time, submitted {age(view.submitted_at)} ago"))


def held(view: BatchView) -> str:
    """Why nothing more begins, and the command that changes it; where the budget is spent it takes another one."""
    budget, used = view.budget, view.spent
    more = " --budget-usd MORE" if budget.cost_usd is not None and used.cost_usd >= budget.cost_usd else ""
    more += " --budget-tokens MORE" if budget.tokens is not None and used.tokens >= budget.tokens else ""
    return f"held: {view.hold}; go on with: surefoot batch resume {quoted(view.batch)}{more}"


def print_next(view: BatchView) -> None:
    """What to do next with a batch that has ended, or waits for people."""
    if view.state not in ("ended", "waiting"):
        return
    id = quoted(view.batch)
    if view.waiting:
        say("what is left waits for people: surefoot inbox")
    if view.failed:
        say(f"which failed: surefoot jobs --batch {id} --end failed")
    if view.incomplete:
        say(f"which are incomplete: surefoot jobs --batch {id} --end incomplete")
    if view.state == "ended" and (view.failed or view.incomplete or view.queued):
        say(f"go on with what is not done: surefoot batch retry {id}")
    say(f"results: surefoot batch results {id}")


def print_batches(views: Sequence[BatchView]) -> None:
    if not views:
        err().print("No batches yet. Submit one: surefoot batch submit FILE --agent AGENT --app APP")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("batch", "state", "lines", *KINDS, "submitted"):
        table.add_column(column, overflow="fold")
    for view in views:
        numbers = [f"{getattr(view, kind):,}" for kind in KINDS]
        table.add_row(Text(view.batch), Text(view.state), f"{view.lines:,}", *numbers, f"{age(view.submitted_at)} ago")
    print_table(table)


def counts(view: BatchView) -> Text:
    """How many lines are in which state; those that are in none are left out."""
    shown = [(kind, getattr(view, kind)) for kind in KINDS]
    parts = [Text(f"{count:,} {SAID.get(kind, kind)}", STYLES.get(kind, "")) for kind, count in shown if count]
    if view.in_queue:
        parts.insert(1, Text(f"{view.in_queue:,} of them in queue {view.queue}"))
    return Text(" · ").join(parts)


def spent(view: BatchView) -> str:
    used = view.spent
    text = f"${used.cost_usd:.4f}, {counted(used.tokens, 'token')}"
    if used.saved_usd:
        text += f", ${used.saved_usd:.4f} saved"
    if used.unmeasured:
        text += f", {counted(used.unmeasured, 'request')} unmeasured"
    if view.rate:
        text += f"; {counted(view.rate, 'job')} a minute"
    if view.left_seconds:
        text += f", about {_minutes(view.left_seconds)} left"
    return text


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class Progress:
    """A line on stderr that says how a batch stands: on a terminal it changes, elsewhere each state is a line."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = Live(console=err(), auto_refresh=False, transient=True) if sys.stderr.isatty() else None
        self._last = ""

    def __enter__(self) -> "Progress":
        if self._live and not self._quiet:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and not self._quiet:
            self._live.__exit__(kind, error, trace)

    def show(self, view: BatchView) -> None:
        if self._quiet:
            return
        why = f"\n{held(view)}" if view.state == "held" else ""
        line = Text.assemble(counts(view), f"  ({spent(view)})", (why, "yellow"))
        if self._live:
            self._live.update(line, refresh=True)
        elif (told := f"{counts(view).plain} {view.hold}") != self._last:
            self._last = told
            err().print(line)
