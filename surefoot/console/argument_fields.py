"""A form for a call's arguments, made from the tool's JSON schema, and the way back from what was typed.

A field that was not touched gives back exactly the value that it was made from: what a form can't hold without a change
(control characters, carriage returns, a value of another type than the schema says) is edited as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from activities.escaping import escaped
from workflows.contracts import JsonObject

Kind = Literal["text", "long", "number", "choice", "date", "json"]
Presence = Literal["given", "null", "absent"]
DEEPEST = 3
LONG_CHARS = 80
SIMPLE: Mapping[str, Kind] = {"string": "text", "integer": "number", "number": "number", "boolean": "choice"}


@dataclass(frozen=True)
class Field:
    """One input. `path` is where its value stands in the arguments, `presences` what it may be beside a value."""

    path: tuple[str, ...]
    kind: Kind
    value: str = ""
    presence: Presence = "given"
    presences: Sequence[Presence] = ("given",)
    choices: Sequence[str] = ()
    help: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        return " › ".join(self.path)


def fields(schema: JsonObject, arguments: JsonObject) -> list[Field]:
    """The fields for these arguments; without a schema their types are those of the values."""
    return _of_object((), schema, arguments, _definitions(schema))


def read(form: Sequence[Field], typed: Mapping[str, str]) -> tuple[JsonObject, list[Field]]:
    """The arguments that were typed into `a0`, `a1`, …, and the fields as typed; one with a problem has no value."""
    arguments: JsonObject = {}
    seen: list[Field] = []
    for number, field in enumerate(form):
        now = _typed(field, typed.get(f"a{number}", ""), typed.get(f"p{number}"))
        try:
            if now.presence != "absent":
                _put(arguments, now.path, None if now.presence == "null" else _value(now))
        except ValueError as error:
            now = replace(now, problem=str(error))
        seen.append(now)
    return arguments, seen


def read_json(text: str) -> JsonObject:
    """Arguments that were typed as JSON. Raises `ValueError` with what is wrong."""
    value = _loads(text)
    if not isinstance(value, dict):
        raise ValueError(f'arguments are a JSON object like {{"name": value}}, not {_named(value)}')
    return value


# --- from the schema to fields


def _of_object(path: tuple[str, ...], schema: JsonObject, values: JsonObject, definitions: JsonObject) -> list[Field]:
    properties = _object(schema.get("properties"))
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    found: list[Field] = []
    for name in [*properties, *(name for name in values if name not in properties)]:
        known = _resolved(_object(properties.get(name)), definitions)
        optional = name in properties and name not in needed
        found += _of_value((*path, name), known, values.get(name), name in values, optional, definitions)
    return found


def _of_value(
    path: tuple[str, ...], known: JsonObject, value: JsonValue, given: bool, optional: bool, definitions: JsonObject
) -> list[Field]:
    inner, nullable = _without_null(known, definitions)
    nested = isinstance(value, dict) and bool(value) and len(path) < DEEPEST
    if nested and isinstance(value, dict) and (not inner or "properties" in inner):
        return _of_object(path, inner, value, definitions)
    presence: Presence = "absent" if not given else "null" if value is None else "given"
    possible: dict[Presence, bool] = {"given": True, "null": nullable, "absent": optional}
    presences = [each for each, may in possible.items() if may or each == presence]
    start = value if presence == "given" else inner.get("default")
    kind, choices = _kind(inner, start)
    shown = _spelled(kind, start) if start is not None else ""
    return [
        Field(
            path, kind, shown, presence, presences, choices, _text(known.get("description") or inner.get("description"))
        )
    ]


def _kind(schema: JsonObject, value: JsonValue) -> tuple[Kind, Sequence[str]]:
    """The input for such a value. A value that does not fit the schema's kind is edited as JSON."""
    options = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if isinstance(options, list) and (value is None or value in options):
        return "choice", [json.dumps(option, ensure_ascii=False) for option in options]
    kind = SIMPLE.get(_text(schema.get("type")) or _type_of(value), "json")
    if value is not None and kind != SIMPLE.get(_type_of(value)):
        return "json", ()
    if kind == "choice":
        return "choice", ["true", "false"]
    if kind == "text" and isinstance(value, str):
        if escaped(value) != value:
            return "json", ()
        if "\n" in value or len(value) > LONG_CHARS:
            return "long", ()
    return ("date", ()) if kind == "text" and schema.get("format") == "date" else (kind, ())


def _type_of(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number" if isinstance(value, int | float) else ""


def _spelled(kind: Kind, value: JsonValue) -> str:
    if kind in ("text", "long", "date"):
        return str(value)
    return json.dumps(value, indent=2 if kind == "json" else None, ensure_ascii=kind == "json")


def _without_null(schema: JsonObject, definitions: JsonObject) -> tuple[JsonObject, bool]:
    """The schema of a value that may also be null, and whether it may."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list):
        return schema, False
    others = [_object(branch) for branch in branches if _object(branch).get("type") != "null"]
    inner = _resolved(others[0], definitions) if len(others) == 1 else {"type": "any"}
    return {**inner, **({"default": schema["default"]} if "default" in schema else {})}, len(others) < len(branches)


def _resolved(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    name = _text(schema.get("$ref")).rpartition("/")[2]
    return (
        {**_object(definitions.get(name)), **{key: value for key, value in schema.items() if key != "$ref"}}
        if name
        else schema
    )


def _definitions(schema: JsonObject) -> JsonObject:
    return _object(schema.get("$defs"))


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


# --- and back


def _typed(field: Field, text: str, presence: str | None) -> Field:
    text = text.replace("\r\n", "\n")  # browsers send every line's end so
    chosen = next((each for each in field.presences if each == presence), field.presence)
    if chosen == field.presence and text != field.value:
        chosen = "given"  # whoever types a value means it
    return replace(field, value=text, presence=chosen)


def _value(field: Field) -> JsonValue:
    if field.kind in ("text", "long", "date"):
        return field.value
    value = _loads(field.value)
    if field.kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{field.value!r} is no number")
    return value


def _loads(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this can't be read as JSON: {error}") from None
    return value


def _refuse(word: str) -> JsonValue:
    raise ValueError(f"{word} is no JSON number")


def _named(value: JsonValue) -> str:
    return {"list": "a list", "str": "a text", "NoneType": "null"}.get(type(value).__name__, "a single value")


def _put(arguments: JsonObject, path: tuple[str, ...], value: JsonValue) -> None:
    *outer, last = path
    place = arguments
    for name in outer:
        inner = place.setdefault(name, {})
        assert isinstance(inner, dict)
        place = inner
    place[last] = value
