"""Deeds that say the same one after the other as one line, for people: a week of reminders would hide who decided.

What is exported keeps each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from workflows.contracts import Audit


@dataclass(frozen=True)
class Folded:
    """One deed, as it was done first, that was done so many `times`; the last time at `last`."""

    deed: Audit
    times: int
    last: datetime


def folded(deeds: Sequence[Audit]) -> list[Folded]:
    """The same deeds, those folded that differ in their time alone, with nothing but their like between them.

    Of two calls of which people are reminded in turn, each has its own line.
    """
    found: list[Folded] = []
    places: dict[str, int] = {}
    for deed in deeds:
        if not found or found[-1].deed.deed != deed.deed:
            places = {}
        said = deed.model_dump_json(exclude={"at"})
        if said in places:
            before = found[places[said]]
            found[places[said]] = replace(before, times=before.times + 1, last=deed.at)
        else:
            places[said] = len(found)
            found.append(Folded(deed, 1, deed.at))
    return found
