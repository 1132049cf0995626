"""From what a job keeps to rounds as a person reads them: what the model wanted, what came of it, and who decided.

A part of a job's entries does as well as all of them: a result whose turn lies before the part stands for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from workflows.contracts import Audit, CallPart, Deed, Logged, Message, Note, Result, Turn

DECISIVE: dict[Deed, str] = {
    "approved": "approved",
    "used_grant": "approved",
    "not_happened": "approved",
    "answered": "answered",
    "denied": "denied",
    "expired": "expired",
    "happened": "ok",
    "gave_up": "unknown",
    "performed": "ok",
}
"""Where a call stands after a deed, until its result is told: that comes in the calls' order, perhaps much later."""

WAITING = {"decision": "waiting", "unknown_outcome": "unknown"}


@dataclass
class CallLine:
    """One call of a round: what was asked for, what came of it, and what people did about it.

    `waits` says for what it waits, if it does: a kind of `Pending`.
    """

    id: str
    tool: str
    call: CallPart | None = None
    result: Result | None = None
    deeds: list[Audit] = field(default_factory=list)
    waits: str | None = None

    @property
    def status(self) -> str:
        if self.result is not None:
            return self.result.status
        if self.waits is not None:
            return WAITING[self.waits]
        return next((DECISIVE[deed.deed] for deed in reversed(self.deeds) if _decides(deed)), "open")

    @property
    def seconds(self) -> float | None:
        return self.result.seconds if self.result else None

    @property
    def decided_at(self) -> datetime | None:
        done = (deed.at for deed in reversed(self.deeds) if deed.deed in DECISIVE and deed.deed != "performed")
        return next(done, None)


def _decides(deed: Audit) -> bool:
    return deed.deed in DECISIVE and not deed.missing


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


def timeline(entries: Sequence[Logged], waiting: Mapping[str, str] = MappingProxyType({})) -> list[Item]:
    """Rounds, messages and deeds, in the order in which they came. `waiting` are the calls that wait, and for what."""
    items: list[Item] = []
    lines: dict[str, CallLine] = {}
    for entry in entries:
        if isinstance(entry, Turn):
            found = Round(entry.number, entry)
            found.calls = [CallLine(part.id, part.tool, part, waits=waiting.get(part.id)) for part in entry.calls]
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
