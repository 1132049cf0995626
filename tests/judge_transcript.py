"""Judges a transcript by the rules that every provider has, and by Surefoot's own; raises `Disorder`.

A transcript that passes can be sent to any model API: each turn's calls are answered directly behind it.
"""

from collections.abc import Sequence

from workflows.contracts import Entry, Message, Note, Result, Turn


class Disorder(AssertionError):
    """The transcript could not be sent to a model."""


def judge_transcript(entries: Sequence[Entry]) -> None:
    """Each turn's calls answered exactly once, in order, directly behind it; ids unique; turns numbered upwards."""
    if not entries or not isinstance(entries[0], Message):
        raise Disorder("the first entry is not a person's message")
    open_calls: list[tuple[str, str]] = []
    seen: set[str] = set()
    number = 0
    for place, entry in enumerate(entries):
        where = f"entry {place} ({entry.kind})"
        if isinstance(entry, Result):
            _close(open_calls, entry, where)
            continue
        if open_calls:
            raise Disorder(f"{where} stands before the results of {open_calls}")
        if isinstance(entry, Turn):
            if entry.number <= number:
                raise Disorder(f"{where} has number {entry.number} after {number}")
            if not entry.parts:
                raise Disorder(f"{where} says nothing; some providers refuse it")
            number = entry.number
            open_calls = [(call.id, call.tool) for call in entry.calls]
            _unique(open_calls, seen, where)
        elif not isinstance(entry, Message | Note) or not entry.text:
            raise Disorder(f"{where} has no text")
    if open_calls:
        raise Disorder(f"the transcript ends before the results of {open_calls}")


def _close(open_calls: list[tuple[str, str]], result: Result, where: str) -> None:
    if not open_calls:
        raise Disorder(f"{where} answers {result.call}, which is not open")
    call, tool = open_calls.pop(0)
    if (result.call, result.tool) != (call, tool):
        raise Disorder(f"{where} answers {result.call} of {result.tool}; {call} of {tool} is due")


def _unique(calls: Sequence[tuple[str, str]], seen: set[str], where: str) -> None:
    for call, _ in calls:
        if call in seen:
            raise Disorder(f"{where} uses the id {call} again")
        seen.add(call)
