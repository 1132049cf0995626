"""Answers that say what they rest on: `[#c1-1]` refers to the result of the call c1-1.

The model finds each reference in front of its result, since the ids on the wire are the provider's own. Only `told` may
be marked so: what is marked must be the same in each request, or a provider's prompt cache is lost.
"""

import re
from collections.abc import Sequence

from workflows.contracts import Entry, Result

INSTRUCTIONS = (
    "Each tool result begins with its reference, such as [#c1-1]. In your answer put, behind every statement that rests"
    " on a result, the reference of that result, exactly as it stands there. Make up no references."
)
SHOWN = 40
"""How many of the references that there are the model is shown when it used one that there is not."""

_BRACKETS = re.compile(r"\[(#[^\[\]\n]{1,300})\]")
_REFERENCE = re.compile(r"#([\w.-]+)")


def marked(entries: Sequence[Entry]) -> list[Entry]:
    """The transcript with each result under its reference."""
    return [
        entry.model_copy(update={"content": f"[#{entry.call}]\n{entry.content}"})
        if isinstance(entry, Result)
        else entry
        for entry in entries
    ]


def cited(text: str) -> list[str]:
    """The ids of the calls that a text refers to, each once, in their order."""
    found = (call for brackets in _BRACKETS.findall(text) for call in _REFERENCE.findall(brackets))
    return list(dict.fromkeys(found))


def check(answer: str, entries: Sequence[Entry]) -> tuple[list[str], str | None]:
    """The calls that an answer rightly refers to, and None or, for the model, what is wrong with its references."""
    results = [entry for entry in entries if isinstance(entry, Result)]
    known = {result.call for result in results}
    ids = cited(answer)
    right, wrong = [call for call in ids if call in known], [call for call in ids if call not in known]
    there = ", ".join(f"[#{result.call}]" for result in results[-SHOWN:]) or "none, since no tool was called"
    if wrong:
        return right, f"There is no result {', '.join(f'[#{call}]' for call in wrong)}. The references are: {there}."
    if not right and any(not result.is_error for result in results):
        return right, f"The answer refers to no result, though tools returned some. The references are: {there}."
    return right, None
