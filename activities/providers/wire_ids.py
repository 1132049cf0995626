"""Decides under which id each call of a transcript goes to a provider: its own where that is safe, else Surefoot's.

A provider's id is used when this API accepts it and no other call of the transcript carries it. The choice depends
on the whole transcript, so a repeated id changes the id of the earlier call too: harmless, as call and result change together.
"""

import re
from collections import Counter
from collections.abc import Sequence

from workflows.contracts import CallPart, Entry, Turn


def wire_ids(transcript: Sequence[Entry], legal: re.Pattern[str]) -> dict[str, str]:
    """The id on the wire for each of Surefoot's call ids; `legal` must match an id in full to let it pass."""
    calls = [call for entry in transcript if isinstance(entry, Turn) for call in entry.calls]
    taken = Counter(call.provider_id for call in calls)
    own = {call.id for call in calls}
    return {call.id: _wire_id(call, taken, own, legal) for call in calls}


def _wire_id(call: CallPart, taken: Counter[str | None], own: set[str], legal: re.Pattern[str]) -> str:
    theirs = call.provider_id
    if theirs and taken[theirs] == 1 and theirs not in own and legal.fullmatch(theirs):
        return theirs
    return call.id
