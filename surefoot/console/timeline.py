"""From what a job keeps to rounds as a person reads them: what the model wanted, what came of it, and who decided.

A part of a job's entries does as well as all of them: a result whose turn lies before the part stands for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from workflows.contracts import Audit, CallPart, Logged, Message, Note, Result, Turn

DECISIVE = ("approved", "answered", "denied", "used_grant", "expired", "happened", "not_happened", "gave_up")


@dataclass
class CallLine:
    """One call of a round: what was asked for, what came of it, and what people did about it."""

    id: str
    tool: str
    call: CallPart | None = None
    result: Result | None = None
    deeds: list[Audit] = field(default_factory=list)

    @property
    def status(self) -> str:
        return self.result.status if self.result else "open"

    @property
    def seconds(self) -> float | None:
        return self.result.seconds if self.result else None

    @property
    def decided_at(self) -> datetime | None:
        return next((deed.at for deed in reversed(self.deeds) if deed.deed in DECISIVE), None)


@dataclass
class Round:
    """One turn of the model with the calls it asked for. `number` counts turns as the job does."""

    number: int
    turn: Turn
    calls: list[CallLine] = field(default_factory=list)

    @property
    def model_seconds(self) -> float:
        return self.turn.seconds or 0.0

    @property
    def tool_seconds(self) -> float:
        return sum(call.seconds or 0.0 for call in self.calls)

    @property
    def waited(self) -> float:
        """Seconds from the model's answer to the last decision of a person."""
        last = max((call.decided_at for call in self.calls if call.decided_at is not None), default=None)
        if last is None or self.turn.at is None:
            return 0.0
        return max(0.0, (last - self.turn.at).total_seconds())


Item = Round | CallLine | Message | Note | Audit


def timeline(entries: Sequence[Logged]) -> list[Item]:
    """Rounds, messages and deeds, in the order in which they came."""
    items: list[Item] = []
    lines: dict[str, CallLine] = {}
    for entry in entries:
        if isinstance(entry, Turn):
            found = Round(entry.number, entry)
            found.calls = [CallLine(part.id, part.tool, part) for part in entry.calls]
            lines |= {line.id: line for line in found.calls}
            items.append(found)
        elif isinstance(entry, Result):
            _line(entry.call, entry.tool, lines, items).result = entry
        elif isinstance(entry, Audit) and entry.call is not None:
            _line(entry.call, entry.tool or "?", lines, items).deeds.append(entry)
        else:
            items.append(entry)
    return items


def rounds(items: Sequence[Item]) -> list[Round]:
    return [item for item in items if isinstance(item, Round)]


def _line(call: str, tool: str, lines: dict[str, CallLine], items: list[Item]) -> CallLine:
    """The line of a call: one of its own if its turn lies before what was read."""
    if call not in lines:
        lines[call] = CallLine(call, tool)
        items.append(lines[call])
    return lines[call]
