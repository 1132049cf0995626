"""Makes JSON from a provider safe to keep: everything an adapter returns must survive UTF-8 and event history.

Only lone surrogates are replaced, by U+FFFD: a text with one can't be encoded, and then no attempt could ever
record the turn. NUL characters and emoji are legal and stay.
"""

import json
import math
import re

from pydantic import JsonValue

from workflows.contracts import JsonObject

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def clean_json(value: JsonValue) -> JsonValue:
    """The value with each string in it made encodable, object keys included; the value itself if all were."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    return value


def parse_arguments(raw: JsonValue) -> tuple[JsonObject | None, str | None]:
    """The arguments of a call as (object, None), or (None, the text as far as it can be kept) if they are malformed.

    Missing, null and empty all mean "no arguments". Malformed are: no JSON, no object, numbers that
    JSON can't hold, lone surrogates, and nesting that no reader survives.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, None
    text = raw if isinstance(raw, str) else json.dumps(raw)
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if isinstance(value, dict) and clean_json(value) == value:
            return value, None
    except (ValueError, RecursionError):
        pass
    return None, clean_text(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
