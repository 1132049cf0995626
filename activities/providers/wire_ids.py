"""Decides under which id each call of a transcript goes to a provider: the provider's own where that is safe.

An id depends only on the entries before it, so a transcript that grows never changes what was sent earlier
(prompt caches and signed blocks are bound to that). The first call with an id keeps it, a later one gets Surefoot's.
"""

import re
from collections.abc import Callable, Sequence

from workflows.contracts import CallPart, Entry, Turn

_LIKE_OURS = re.compile(r"c\d+-\d+")


def wire_ids(
    transcript: Sequence[Entry], legal: re.Pattern[str], mint: Callable[[str], str] = lambda own: own
) -> dict[str, str]:
    """The id on the wire for each of Surefoot's call ids.

    A provider's id passes if `legal` matches it in full; `mint` turns Surefoot's id into one that is legal here.
    """
    wire: dict[str, str] = {}
    taken: set[str] = set()
    for call in _calls(transcript):
        theirs = call.provider_id or ""
        usable = legal.fullmatch(theirs) and theirs not in taken and not _LIKE_OURS.fullmatch(theirs)
        wire[call.id] = theirs if usable else mint(call.id)
        taken.add(wire[call.id])
    return wire


def _calls(transcript: Sequence[Entry]) -> list[CallPart]:
    return [call for entry in transcript if isinstance(entry, Turn) for call in entry.calls]
