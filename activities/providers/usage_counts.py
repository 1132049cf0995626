"""Reads token counts that may be missing, null, nested or nonsense: usage must never make an answer fail."""

from collections.abc import Sequence

from pydantic import JsonValue

from workflows.contracts import JsonObject, Part, Usage

MOST = 10**12
"""More tokens than a model call can have: a larger count is nonsense."""


def counts(value: JsonValue) -> JsonObject:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def count(fields: JsonObject, *names: str) -> int:
    """The first plausible whole number under one of these names, else 0."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, int | float) and 0 < value < MOST and value == int(value):
            return int(value)
    return 0


def measured(usage: Usage, parts: Sequence[Part]) -> Usage:
    """The usage of an answer with these parts; unmeasured if it can't be all that was used, which is never free.

    No request is without input, and no answer that says something without output.
    """
    whole = usage.input_tokens and (usage.output_tokens or not parts)
    return usage if whole else usage.model_copy(update={"unmeasured": 1})
