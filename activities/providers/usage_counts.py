"""Reads token counts that may be missing, null, nested or nonsense: usage must never make an answer fail."""

from pydantic import JsonValue

from workflows.contracts import JsonObject

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
