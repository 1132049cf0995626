"""Puts a transcript into the one order that every model API accepts: a turn, a result for each of its calls, the rest.

The workflow keeps this order itself. It is made sure of here all the same, since one gap would get every later request
of the job rejected, with no way to mend it.
"""

from collections.abc import Sequence

from workflows.contracts import Entry, Result, Turn

NO_RESULT = "This call has no recorded result."


def paired(transcript: Sequence[Entry]) -> list[Entry]:
    """The entries with each turn's results right behind it, in the order of its calls; results of no call left out."""
    results = {entry.call: entry for entry in transcript if isinstance(entry, Result)}
    ordered: list[Entry] = []
    for entry in transcript:
        if isinstance(entry, Turn):
            ordered.append(entry)
            ordered += [results.get(call.id) or _missing(call.id, call.tool) for call in entry.calls]
        elif not isinstance(entry, Result):
            ordered.append(entry)
    return ordered


def _missing(call: str, tool: str) -> Result:
    return Result(call=call, tool=tool, content=NO_RESULT, status="unknown")
