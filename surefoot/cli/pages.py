"""What people read: plain when piped, in colour on a terminal. Texts of models and tools are never markup."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from activities.escaping import escaped
from surefoot.account import me
from surefoot.cli.output import discard, write, write_answer
from surefoot.inbox import InboxItem
from surefoot.lists import JobRow
from surefoot.texts import quoted
from workflows.contracts import (
    JobView,
    Outcome,
    Pending,
)
from workflows.counting import counted
from workflows.words import DONE

STATE_STYLES = {"running": "cyan", "waiting": "yellow", "paused": "magenta", "ended": "dim"}
STATUS_STYLES = {"complete": "green"}
SHOWN = 300
FINDINGS_SHOWN = 10


PIPED_WIDTH = 10_000
"""A table in a pipe has one line a row, however long: it is read by programs."""


class Page(Console):
    """A console on which no text acts as anything but text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        # Rich would end the process with code 1, as if something had failed.
        discard(self.file)


def out() -> Page:
    """Answers: stdout."""
    return _page(sys.stdout, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def err() -> Page:
    """Everything else: stderr."""
    return _page(sys.stderr)


def _page(stream: IO[str], width: int | None = None) -> Page:
    # A terminal left to itself breaks a line within a word; a pipe has no width.
    return Page(file=stream, highlight=False, soft_wrap=not stream.isatty(), markup=False, width=width)


def short(text: str, limit: int = SHOWN) -> str:
    """One line of a text that may be long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}…"


def call_text(tool: str, arguments: object) -> str:
    """A call as one reads it: `refund(order="A-1", amount=12)`."""
    if not isinstance(arguments, dict):
        return f"{tool}({short(str(arguments))})"
    return (
        f"{tool}({', '.join(f'{name}={json.dumps(value, ensure_ascii=False)}' for name, value in arguments.items())})"
    )


def age(since: datetime) -> str:
    seconds = max(0, int((datetime.now(UTC) - since).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def print_answer(text: str) -> None:
    """Verbatim into a file or a pipe; harmless on a terminal, and broken between words."""
    if sys.stdout.isatty():
        out().print(Text(text))
    else:
        write_answer(text)


def print_table(table: Table) -> None:
    """On stdout; a program that reads it gets no blanks behind a row."""
    console = out()
    if sys.stdout.isatty():
        console.print(table, soft_wrap=False)
        return
    with console.capture() as rendered:
        console.print(table, soft_wrap=False)
    write("\n".join(line.rstrip() for line in rendered.get().splitlines()))


def print_jobs(rows: Sequence[JobRow], *, chosen: bool = False) -> None:
    """Jobs as a table; `chosen`: others may be there that the options leave out."""
    if not rows:
        none = "No jobs are like that." if chosen else "No jobs yet. Start one: surefoot run AGENT 'INPUT' --app FILE"
        err().print(none)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("job", "agent", "state", "status", "started"):
        table.add_column(column, overflow="fold")
    for row in rows:
        status = row.status or ""
        table.add_row(
            Text(row.job),
            Text(row.agent),
            Text(row.state, STATE_STYLES.get(row.state, "")),
            Text(status, STATUS_STYLES.get(status, "yellow" if status else "")),
            f"{age(row.started_at)} ago",
        )
    print_table(table)
    for row in rows:
        if row.problem:
            err().print(row.problem)


def print_row(row: JobRow) -> None:
    """A job, as far as the server itself knows it."""
    _print_head(row)
    ended = f", ended {age(row.ended_at)} ago" if row.ended_at else ""
    out().print(f"started {age(row.started_at)} ago{ended}{f', {row.status}' if row.status else ''}")


def _print_head(job: JobView | JobRow) -> None:
    console = out()
    console.print(
        Text.assemble((job.job, "bold"), f"  agent {job.agent}  ", (job.state, STATE_STYLES.get(job.state, "")))
    )
    if marks := [*([f"tenant {job.tenant}"] if job.tenant else []), *(f"#{tag}" for tag in job.tags)]:
        console.print("  ".join(marks))
    if job.parent is not None:
        console.print(f"works for {job.parent}")
    if isinstance(job, JobView) and job.begins_at is not None:
        console.print(f"begins at {job.begins_at.astimezone().isoformat(sep=' ', timespec='seconds')}")


def print_job(view: JobView, others: Sequence[JobView] = ()) -> None:
    """A job, and what waits in the `others` that work for it."""
    _print_head(view)
    console = out()
    console.print(
        f"{counted(view.rounds, 'round')}, {counted(view.tool_calls, 'tool call')},"
        f" {counted(view.usage.tokens, 'token')}, {cost(view)};"
        f" history: {view.history_events} events, {view.history_bytes} bytes"
    )
    for decided in view.decided:
        done = "" if decided.performed else ", not performed yet"
        word = DONE.get(decided.choice, decided.choice)
        console.print(f"decided  {decided.call}: {word} by {decided.by} at {decided.at:%Y-%m-%d %H:%M}{done}")
    states: dict[str, str] = {each.job: each.state for each in others}
    for child in view.children:
        how = child.status or states.get(child.job, "ended")
        console.print(f"asked    {child.agent} ({child.call}): {how}  {child.job}")
    for each in (view, *others):
        for pending in each.pending:
            print_pending(console, each.job, pending)
    if view.outcome is not None:
        print_outcome(console, view.outcome)


def cost(view: JobView) -> str:
    money = f"${view.usage.cost_usd:.4f}"
    return f"{money} + {view.usage.unmeasured} unmeasured" if view.usage.unmeasured else money


def print_pending(console: Console, job: str, pending: Pending) -> None:
    """One call that waits, with everything needed to decide, and the commands that do it."""
    doubtful = pending.kind == "unknown_outcome"
    head = "outcome unknown" if doubtful else "waits for you"
    console.print(Text.assemble((f"{head}: ", "bold yellow"), call_text(pending.tool, pending.arguments)))
    if pending.why:
        console.print(f"  why      {short(pending.why)}")
    if pending.approvers:
        escalated = " (escalated)" if pending.escalated else ""
        console.print(f"  decided by {' or '.join(pending.approvers)}{escalated}")
    if pending.quorum > 1:
        by = f": {', '.join(pending.approved_by)}" if pending.approved_by else ""
        console.print(f"  approved {len(pending.approved_by)} of {pending.quorum}{by}")
    if me() in pending.barred:
        console.print("  others approve this: the job works for you, or you told it something; you may deny it")
    if pending.expires_at is not None:
        console.print(f"  expires  {pending.expires_at:%Y-%m-%d %H:%M:%S}")
    if pending.risk != "normal":
        console.print(f"  risk     {pending.risk}")
    if pending.preview:
        console.print(f"  preview  {short(pending.preview)}")
    if pending.problem:
        console.print(f"  problem  {short(pending.problem)}")
    tenant = f" for {pending.tenant}" if pending.tenant else ""
    console.print(f"  asked    {age(pending.asked_at)} ago, by agent {pending.agent}{tenant}, call {pending.call}")
    if pending.parent is not None:
        console.print(f"  works for {pending.parent}")
    if doubtful:
        console.print("  It was started and nobody saw its end: find out whether it happened, then say so:")
        _print_command(
            console, f"surefoot resolve {quoted(job)} {pending.call} --happened RESULT | --not-happened | --give-up"
        )
    elif pending.allowed:
        _print_command(console, f"surefoot approve {quoted(job)} {pending.call}   or   deny / answer")


def _print_command(console: Console, text: str) -> None:
    """A line to be copied: in one piece, however narrow the terminal."""
    console.print(f"  {text}", soft_wrap=True)


def print_inbox(items: Sequence[InboxItem]) -> None:
    if not items:
        err().print("Nothing waits for a person.")
        return
    console = out()
    for number, item in enumerate(items):
        if number:
            console.print()
        console.print(Text(item.job, "bold"))
        print_pending(console, item.job, item)


def print_outcome(console: Console, outcome: Outcome) -> None:
    console.print(Text(outcome.summary, STATUS_STYLES.get(outcome.status, "yellow")))
    if outcome.error and outcome.error not in outcome.summary:
        console.print(Text(f"error: {outcome.error}", "red"))
    print_doubts(console, outcome)
    for missed in outcome.not_done:
        console.print(f"not done: {call_text(missed.tool, missed.arguments)}")
    if outcome.answer:
        console.print(outcome.answer)
    else:
        print_findings(console, outcome)


def print_doubts(console: Console, outcome: Outcome) -> None:
    """What else there is to know of an answer: that other models gave it than were meant to, that it cites wrongly."""
    for stand_in in outcome.stand_ins:
        console.print(Text(f"answered by {stand_in}", "yellow"))
    if outcome.citation_problem:
        console.print(Text(f"citations: {outcome.citation_problem}", "yellow"))


def print_findings(console: Console, outcome: Outcome) -> None:
    """What tools returned, in short: all that a job has that ends without an answer."""
    left_out = len(outcome.findings) - FINDINGS_SHOWN
    if left_out > 0:
        console.print(f"found    {left_out} more before these")
    for finding in outcome.findings[-FINDINGS_SHOWN:]:
        style = "red" if finding.is_error else "green"
        console.print(Text.assemble("found    ", (f"{finding.tool} ({finding.call}): ", style), short(finding.content)))
