"""What was said in a job and who did what, as people read it on a terminal."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.text import Text

from surefoot.cli.pages import call_text, out, short
from surefoot.folding import folded
from workflows.contracts import Audit, CallPart, Entry, Message, Note, Result, TextPart, Turn

RESULT_STYLES = {"ok": "green", "answered": "green", "denied": "yellow", "not_executed": "yellow", "unknown": "red"}


def print_entries(entries: Sequence[Entry], console: Console | None = None, *, whole: bool = True) -> None:
    """What was said; `whole` texts, or one line each."""
    console = console or out()
    for entry in entries:
        print_entry(console, entry, whole)


def print_audit(entries: Sequence[Audit]) -> None:
    """One line for each deed; deeds that were only repeated have one together."""
    for line in folded(entries):
        entry = line.deed
        who = f" by {entry.by}" if entry.by else ""
        roles = f" ({', '.join(entry.roles)})" if entry.roles else ""
        about = f" {entry.tool} {entry.call}" if entry.call else ""
        more = f", {entry.missing} more needed" if entry.missing else ""
        said = f": {short(entry.text)}" if entry.text else ""
        again = f" {line.times} times, last {_moment(line.last)}," if line.times > 1 else ""
        out().print(
            Text.assemble(
                (f"{_moment(entry.at)}  ", "dim"),
                (entry.deed.replace("_", " "), "bold"),
                f"{again}{about}{who}{roles}{more}{said}",
            )
        )


def _moment(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="seconds")


def print_entry(console: Console, entry: Entry, whole: bool) -> None:
    cut = (lambda text: text) if whole else short
    if isinstance(entry, Message):
        console.print(Text.assemble((f"{entry.by or 'person'}: ", "bold blue"), cut(entry.text)))
    elif isinstance(entry, Note):
        console.print(Text.assemble(("surefoot: ", "dim"), cut(entry.text)))
    elif isinstance(entry, Result):
        style = RESULT_STYLES.get(entry.status, "red")
        console.print(Text.assemble((f"  {entry.call} {entry.status}: ", style), cut(entry.content)))
    else:
        _print_turn(console, entry, whole)


def _print_turn(console: Console, turn: Turn, whole: bool) -> None:
    for part in turn.parts:
        if isinstance(part, TextPart):
            console.print(Text.assemble(("model: ", "bold"), part.text if whole else short(part.text)))
        elif isinstance(part, CallPart):
            arguments = part.arguments if part.arguments is not None else part.raw
            text = call_text(part.tool, arguments)
            console.print(Text.assemble((f"  {part.id} → ", "cyan"), text if whole else short(text)))
        elif whole:
            console.print(Text(f"({part.kind}) {part.text}", "dim"))
