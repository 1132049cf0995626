"""Turns pydantic's validation errors into text that a model can act on.

The text is bounded whatever the input was: it goes into the transcript and is sent with every later call.
"""

import json
from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from activities.tools.rendering import well_formed

_SHOWN_PROBLEMS = 10
_SHOWN_CHARS = 80
_MESSAGE_CHARS = 300
_PLACE_CHARS = 200


def problems(error: ValidationError, known: Sequence[str] = ()) -> str:
    """One line per wrong place: where, what is wrong, what stood there. `known` are the names that would do."""
    found = error.errors(include_url=False, include_context=False)
    lines = [f"- {_line(problem, known)}" for problem in found[:_SHOWN_PROBLEMS]]
    if len(found) > _SHOWN_PROBLEMS:
        lines.append(f"- and {len(found) - _SHOWN_PROBLEMS} more")
    return "\n".join(lines)


def shown(value: object) -> str:
    """A value as short JSON, cut to a bounded length."""
    try:
        return cut(json.dumps(value, ensure_ascii=True), _SHOWN_CHARS)
    except (TypeError, ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"


def cut(text: str, length: int) -> str:
    """Foreign text as valid Unicode, cut to a bounded length."""
    text = well_formed(text)
    return text if len(text) <= length else text[: length - 1] + "…"


def said(error: BaseException, length: int = 4_000) -> str:
    """What an exception says, bounded; user code may have written its `__str__`, so that it may raise too."""
    try:
        return cut(str(error), length)
    except BaseException as broken:  # also sys.exit: whoever asks is on the worker's own loop
        return f"({type(error).__name__} can't be shown as text: {type(broken).__name__})"


def first_line(error: BaseException) -> str:
    """What an exception says, in one bounded line; its class if it says nothing."""
    return cut((str(error).splitlines() or [type(error).__name__])[0], 200)


def _line(problem: ErrorDetails, known: Sequence[str]) -> str:
    place = _place(problem["loc"])
    if problem["type"] == "missing":
        return f"{place}: missing, but required"
    if problem["type"] == "extra_forbidden":
        names = f"; the known ones are {', '.join(known)}" if len(problem["loc"]) == 1 and known else ""
        return cut(f"{place}: unknown argument{names}", _MESSAGE_CHARS)
    message = cut(problem["msg"].removeprefix("Value error, "), _MESSAGE_CHARS)
    if problem["type"] == "json_invalid":
        return f"{place}: {message}"
    return f"{place}: {message}, got {shown(problem['input'])}"


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return cut(text, _PLACE_CHARS) or "(the whole)"
