"""Makes JSON from a provider safe to keep: what an adapter returns must survive UTF-8 and event history.

Two things in legal JSON would make a turn impossible to record, for ever: a lone surrogate can't be encoded,
and pydantic's reader gives up at about 200 levels of nesting. NUL characters and emoji are harmless and stay.
"""

import json
import math
import re

from pydantic import JsonValue

from activities.providers.errors import MalformedAnswer
from workflows.contracts import JsonObject

MAX_DEPTH = 100
LONGEST_TEXT = 1_500_000
"""Characters: more than a turn may take in history, and few enough to be copied with each piece that is added."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD. Two that are a pair, as a stream may cut one, become one."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def continued(text: str, piece: str) -> str:
    """The text with its next piece. A character that the stream cut into a pair of surrogates is one again.

    Raises `MalformedAnswer` for a text that can't be recorded anyway.
    """
    if len(text) > LONGEST_TEXT:
        raise MalformedAnswer(
            f"a text of the answer has more than {LONGEST_TEXT:,} characters, which no turn takes; set a lower"
            " max_output_tokens, or ask for less in one answer"
        )
    if "\ud800" <= text[-1:] <= "\udbff" and "\udc00" <= piece[:1] <= "\udfff":
        return text[:-1] + clean_text(text[-1] + piece[0]) + piece[1:]
    return text + piece


def clean_json(value: JsonValue, levels: int = MAX_DEPTH) -> JsonValue:
    """A copy of the value with each string in it cleaned, keys included; ValueError if nested deeper than `levels`."""
    if levels < 0:
        raise ValueError(f"the JSON is nested deeper than history can hold ({MAX_DEPTH} levels)")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item, levels - 1) for key, item in value.items()}
    return value


def parse_arguments(raw: JsonValue) -> tuple[JsonObject | None, str | None]:
    """The arguments of a call as (object, None), or (None, the text as far as it can be kept) if they are malformed.

    Missing, null and empty all mean "no arguments". Malformed are: no JSON, no object, numbers that
    JSON can't hold, lone surrogates, and nesting too deep.
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
