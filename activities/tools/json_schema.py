"""Checks a JSON value against a JSON schema, for agents whose output is given as one.

A keyword that is passed over would let wrong answers through: `json_schema_form.py` refuses a schema with any
that is not known here, when the agent is defined. Whoever adds a keyword adds it in both.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from pydantic import JsonValue

from activities.tools.explain import cut, shown
from workflows.contracts import JsonObject
from workflows.digest import canonical

_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": lambda value: _is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    # keyword: (what it demands, whether a value meets it); each looks at values of its own type only
    "minimum": ("at least {}", lambda value, bound: not _is_number(value) or value >= bound),
    "maximum": ("at most {}", lambda value, bound: not _is_number(value) or value <= bound),
    "exclusiveMinimum": ("more than {}", lambda value, bound: not _is_number(value) or value > bound),
    "exclusiveMaximum": ("less than {}", lambda value, bound: not _is_number(value) or value < bound),
    "multipleOf": ("a multiple of {}", lambda value, step: not _is_number(value) or _is_multiple(value, step)),
    "minLength": ("at least {} characters", lambda value, bound: not isinstance(value, str) or len(value) >= bound),
    "maxLength": ("at most {} characters", lambda value, bound: not isinstance(value, str) or len(value) <= bound),
    "pattern": (
        "text that matches {}",
        lambda value, pattern: not isinstance(value, str) or re.search(pattern, value) is not None,
    ),
    "minItems": ("at least {} items", lambda value, bound: not isinstance(value, list) or len(value) >= bound),
    "maxItems": ("at most {} items", lambda value, bound: not isinstance(value, list) or len(value) <= bound),
    "minProperties": ("at least {} keys", lambda value, bound: not isinstance(value, dict) or len(value) >= bound),
    "maxProperties": ("at most {} keys", lambda value, bound: not isinstance(value, dict) or len(value) <= bound),
}
_SHOWN_PROBLEMS = 10


def check(value: JsonValue, schema: JsonObject, place: str = "answer") -> str | None:
    """What is wrong with the value, one line per place, or None. `refuse_unusable` has passed the schema."""
    found = list(itertools.islice(_Check(schema).problems(value, schema, place), _SHOWN_PROBLEMS))
    return "\n".join(f"- {problem}" for problem in found) or None


class _Check:
    """One check against one schema; `$ref` is looked up from its root."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root

    def problems(self, value: Any, schema: Any, place: str) -> Iterator[str]:
        if schema is False:
            yield f"{place}: must not be there"
        if isinstance(schema, bool):
            return
        if "$ref" in schema:
            yield from self.problems(value, resolve(self._root, schema["$ref"]), place)
        yield from self._own(value, schema, place)
        yield from self._combined(value, schema, place)
        if isinstance(value, dict):
            yield from self._keys(value, schema, place)
        if isinstance(value, list):
            yield from self._items(value, schema, place)

    def _own(self, value: Any, schema: Any, place: str) -> Iterator[str]:
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if types and not any(_TYPES[name](value) for name in types):
            yield f"{place}: must be of type {' or '.join(types)}, got {shown(value)}"
        if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
            yield f"{place}: must be one of {shown(schema['enum'])}, got {shown(value)}"
        if "const" in schema and not _same(value, schema["const"]):
            yield f"{place}: must be {shown(schema['const'])}, got {shown(value)}"
        for keyword, (demand, holds) in _BOUNDS.items():
            if keyword in schema and not holds(value, schema[keyword]):
                yield f"{place}: must be {demand.format(shown(schema[keyword]))}, got {shown(value)}"

    def _combined(self, value: Any, schema: Any, place: str) -> Iterator[str]:
        for part in schema.get("allOf", []):
            yield from self.problems(value, part, place)
        if "not" in schema and self._fits(value, schema["not"]):
            yield f"{place}: must not fit {shown(schema['not'])}"
        for keyword in ("anyOf", "oneOf"):
            choices = schema.get(keyword)
            fitting = sum(self._fits(value, choice) for choice in choices or [])
            if choices and not fitting:
                yield f"{place}: fits none of its {len(choices)} forms, got {shown(value)}"
                # The complaints of the nearest form say what to change.
                yield from min((list(self.problems(value, choice, place)) for choice in choices), key=len)
            if keyword == "oneOf" and fitting > 1:
                yield f"{place}: fits {fitting} of its forms, must fit exactly one"

    def _fits(self, value: Any, schema: Any) -> bool:
        return next(self.problems(value, schema, ""), None) is None

    def _keys(self, value: dict[str, Any], schema: Any, place: str) -> Iterator[str]:
        known = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                yield f"{place}.{key}: missing, but required"
        for key, item in value.items():
            if key in known:
                yield from self.problems(item, known[key], f"{place}.{cut(key, 80)}")
            elif schema.get("additionalProperties") is False:
                yield f"{place}.{cut(key, 80)}: unknown; the known keys are {', '.join(known) or '(none)'}"
            else:
                yield from self.problems(item, schema.get("additionalProperties", True), f"{place}.{cut(key, 80)}")

    def _items(self, value: list[Any], schema: Any, place: str) -> Iterator[str]:
        first = schema.get("prefixItems", [])
        for position, item in enumerate(value):
            part = first[position] if position < len(first) else schema.get("items", True)
            yield from self.problems(item, part, f"{place}[{position}]")
        if schema.get("uniqueItems") and len({canonical({"": item}) for item in value}) < len(value):
            yield f"{place}: has an item twice"


def resolve(root: JsonObject, reference: str) -> Any:
    """What a `$ref` points at; raises ValueError if it points at nothing in this schema."""
    found: Any = root
    if not reference.startswith("#"):
        raise ValueError(f"$ref {reference!r} points outside of the schema; use #/$defs/…")
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or step not in found:
            raise ValueError(f"$ref {reference!r} points at nothing")
        found = found[step]
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_multiple(value: float, step: float) -> bool:
    # As they are written, since 0.3 is a multiple of 0.1 for whoever writes a schema.
    return Fraction(repr(value)) % Fraction(repr(step)) == 0


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    return canonical({"": value}) == canonical({"": other})
