"""What an edit changes, value by value: what a person sees before edited arguments are sent.

Numbers are compared as the digest of a decision compares them, so that what shows no difference is no edit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from workflows.contracts import JsonObject
from workflows.digest import whole_numbers


@dataclass(frozen=True)
class Difference:
    """One value before and after; None where there is none."""

    path: str
    before: str | None
    after: str | None


def differences(before: JsonObject, after: JsonObject) -> list[Difference]:
    """Every value that differs, in the order of `before`, then what is new in `after`."""
    return list(_of_objects("", before, after))


def _of_objects(path: str, before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        place = f"{path}.{name}" if path else name
        if name not in after:
            yield Difference(place, _shown(before[name]), None)
        elif name not in before:
            yield Difference(place, None, _shown(after[name]))
        else:
            yield from _of_values(place, before[name], after[name])


def _of_values(path: str, before: JsonValue, after: JsonValue) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        old, new = ({str(place): value for place, value in enumerate(values)} for values in (before, after))
        for each in _of_objects("", old, new):
            place, dot, rest = each.path.partition(".")
            yield Difference(f"{path}[{place}]{dot}{rest}", each.before, each.after)
    elif _spelled(before) != _spelled(after):
        yield Difference(path, _shown(before), _shown(after))


def _spelled(value: JsonValue) -> str:
    return json.dumps(whole_numbers(value), sort_keys=True)


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
