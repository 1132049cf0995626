"""Refuses a JSON schema that `json_schema.py` could not hold an answer to.

What a schema may look like is itself written as a JSON schema, and checked by the same code.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from activities.errors import DefinitionError
from activities.tools.json_schema import check, resolve
from workflows.contracts import JsonObject

_SCHEMA: JsonObject = {"$ref": "#"}
_SCHEMAS: JsonObject = {"type": "array", "items": _SCHEMA, "minItems": 1}
_NAMED_SCHEMAS: JsonObject = {"type": "object", "additionalProperties": _SCHEMA}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_NUMBER: JsonObject = {"type": "number"}
_TEXT: JsonObject = {"type": "string"}
_TYPE: JsonObject = {"enum": ["null", "boolean", "integer", "number", "string", "array", "object"]}

FORM: JsonObject = {
    "type": ["object", "boolean"],
    "properties": {
        "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1}]},
        "enum": {"type": "array", "minItems": 1},
        "const": True,
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "exclusiveMinimum": _NUMBER,
        "exclusiveMaximum": _NUMBER,
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "minLength": _COUNT,
        "maxLength": _COUNT,
        "pattern": _TEXT,
        "minItems": _COUNT,
        "maxItems": _COUNT,
        "uniqueItems": {"type": "boolean"},
        "minProperties": _COUNT,
        "maxProperties": _COUNT,
        "items": _SCHEMA,
        "prefixItems": _SCHEMAS,
        "properties": _NAMED_SCHEMAS,
        "required": {"type": "array", "items": _TEXT},
        "additionalProperties": _SCHEMA,
        "allOf": _SCHEMAS,
        "anyOf": _SCHEMAS,
        "oneOf": _SCHEMAS,
        "not": _SCHEMA,
        "$ref": _TEXT,
        "$defs": _NAMED_SCHEMAS,
        "definitions": _NAMED_SCHEMAS,
        # These say nothing of what is valid.
        **dict.fromkeys(("$schema", "$id", "$comment", "title", "description", "format"), _TEXT),
        **dict.fromkeys(("default", "examples", "deprecated", "readOnly", "writeOnly"), True),
    },
    "additionalProperties": False,
}
_IN_PLACE = ("allOf", "anyOf", "oneOf")


def refuse_unusable(schema: JsonObject, where: str) -> None:
    """Raise `DefinitionError` for a schema that no answer could be held to."""
    try:
        problem = check(json.loads(json.dumps(schema, allow_nan=False)), FORM, "output")
        if problem is None:
            for part in _parts(schema):
                re.compile(part.get("pattern", ""))
                _refuse_endless(part, schema, ())
            return
    except (TypeError, ValueError, RecursionError, re.error) as error:
        problem = f"- {error}"
    raise DefinitionError(
        f"{where}: its output is no JSON schema that answers can be checked against:\n{problem}\n"
        "Change that, or give a pydantic model."
    )


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and every schema inside it."""
    if isinstance(schema, bool):
        return
    yield schema
    for keyword in ("properties", "$defs", "definitions"):
        for part in schema.get(keyword, {}).values():
            yield from _parts(part)
    for keyword in (*_IN_PLACE, "prefixItems"):
        for part in schema.get(keyword, []):
            yield from _parts(part)
    for keyword in ("items", "additionalProperties", "not"):
        yield from _parts(schema.get(keyword, True))


def _refuse_endless(part: Any, root: JsonObject, above: tuple[int, ...]) -> None:
    """A schema that applies itself to the same value again would be checked for ever."""
    if isinstance(part, bool):
        return
    if id(part) in above:
        raise ValueError("it refers to itself without going deeper into the value")
    above = (*above, id(part))
    if "$ref" in part:
        _refuse_endless(resolve(root, part["$ref"]), root, above)
    for inner in (part.get("not", True), *(choice for keyword in _IN_PLACE for choice in part.get(keyword, []))):
        _refuse_endless(inner, root, above)
