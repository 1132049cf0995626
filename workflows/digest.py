"""One spelling for equal arguments, and a hash of it: what a decision is bound to and a repetition is known by.

Digests stand in the history of running jobs, so the spelling can never change.

Sorted keys, no spaces, ASCII only. Numbers are equal when JSON says so: 1.0 is spelled `1`, since a web
console or a codec on the way may write either for the other; `true` is not 1, and "1" is not 1. Beyond 2**53 a
float stands as Python's shortest form, an integer with all its digits.
"""

import hashlib
import json
import math

from pydantic import JsonValue

from workflows.contracts import JsonObject

_EXACT = 2**53  # up to here every whole float is exactly one integer, in every language


def canonical(arguments: JsonObject) -> str:
    """The one spelling of these arguments, the same in every process and Python version."""
    return json.dumps(whole_numbers(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(tool_name: str, arguments: JsonObject) -> str:
    """SHA-256, in hex, of the tool's name and its canonical arguments."""
    spelled = json.dumps(tool_name, ensure_ascii=True) + canonical(arguments)
    return hashlib.sha256(spelled.encode("ascii")).hexdigest()


def whole_numbers(value: JsonValue) -> JsonValue:
    """The value with every float that is a whole number, and small enough to be exact, as an integer."""
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() and abs(value) <= _EXACT else value
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return value
