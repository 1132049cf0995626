"""Assembles the arguments of a function call that Google streams piece by piece (`streamFunctionCallArguments`).

Each piece names its place by a path of RFC 9535, as in `$.to[0].name`, and brings one value or some more of a string.
A path that leads nowhere is an error: no argument may be lost in silence, since the call may be a write.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from activities.providers.errors import MalformedAnswer
from activities.providers.json_text import MAX_DEPTH
from workflows.contracts import JsonObject

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<place>\d{1,9})]|\[(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)]"""
)
_VALUES: Final = ("numberValue", "boolValue")


def arguments_of(pieces: Sequence[JsonObject]) -> JsonObject:
    """The arguments that these `partialArgs`, in their order, make up. Raises `MalformedAnswer`."""
    arguments: JsonObject = {}
    for path, group in itertools.groupby(pieces, key=lambda piece: str(piece.get("jsonPath"))):
        _put(arguments, _steps(path), _value(list(group)), path)
    return arguments


def _value(pieces: Sequence[JsonObject]) -> JsonValue:
    last = pieces[-1]
    if "nullValue" in last:
        return None
    for name in _VALUES:
        if name in last:
            return last[name]
    return "".join(str(piece.get("stringValue", "")) for piece in pieces)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else len(path)
    while found := _STEP.match(path, at):
        at = found.end()
        if found["place"] is not None:
            steps.append(int(found["place"]))
        else:
            steps.append(found["name"] if found["name"] is not None else re.sub(r"\\(.)", r"\1", found["quoted"]))
    if at < len(path) or not 0 < len(steps) <= MAX_DEPTH:
        raise MalformedAnswer(f"a call streams an argument to the path {path[:200]!r}, which names no place in one")
    return steps


def _put(into: JsonValue, steps: Sequence[str | int], value: JsonValue, path: str) -> None:
    for step, following in itertools.pairwise([*steps, None]):
        before = _at(into, step, path)
        if following is not None:
            value_here: JsonValue = before if isinstance(before, dict | list) else _empty(following)
        else:
            value_here = before + value if isinstance(before, str) and isinstance(value, str) else value
        _set(into, step, value_here)
        into = value_here


def _empty(step: str | int) -> JsonValue:
    return [] if isinstance(step, int) else {}


def _at(into: JsonValue, step: str | int | None, path: str) -> JsonValue:
    """What is at this step already; None where it would be the next."""
    if isinstance(into, dict) and isinstance(step, str):
        return into.get(step)
    if isinstance(into, list) and isinstance(step, int) and step <= len(into):
        return into[step] if step < len(into) else None
    raise MalformedAnswer(
        f"a call streams an argument to the path {path[:200]!r}, which what came before does not have"
    )


def _set(into: JsonValue, step: str | int | None, value: JsonValue) -> None:
    if isinstance(into, dict) and isinstance(step, str):
        into[step] = value
    elif isinstance(into, list) and isinstance(step, int):
        into[step:] = [value, *into[step + 1 :]]
