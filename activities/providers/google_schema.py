"""A tool's JSON schema as far as Google's API takes it in `parametersJsonSchema`.

The API's reference lists the keywords that it supports; others make some models answer 400, for every call of the
job. Leaving them out is safe: arguments are validated against the whole schema before a tool runs.
"""

from typing import Final

from pydantic import JsonValue

from workflows.contracts import JsonObject

_KEPT: Final = frozenset(
    {
        "$anchor",
        "$id",
        "$ref",
        "description",
        "format",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "propertyOrdering",
        "required",
        "title",
        "type",
    }
)
_BY_NAME: Final = frozenset({"$defs", "properties"})
_LISTS: Final = frozenset({"anyOf", "oneOf", "prefixItems"})
_ONE: Final = frozenset({"additionalProperties", "items"})


def google_schema(schema: JsonObject) -> JsonObject:
    """The schema with supported keywords only; `const` becomes an `enum` of one."""
    if "const" in schema and "enum" not in schema:
        schema = {**schema, "enum": [schema["const"]]}
    if "$ref" in schema:  # nothing may stand beside a reference but what begins with a dollar
        schema = {key: value for key, value in schema.items() if key.startswith("$")}
    return {key: _value(key, value) for key, value in schema.items() if _is_supported(key, value)}


def _is_supported(key: str, value: JsonValue) -> bool:
    if key == "enum":
        return isinstance(value, list) and all(isinstance(each, str) or _is_number(each) for each in value)
    return key in _KEPT | _BY_NAME | _LISTS | _ONE


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(key: str, value: JsonValue) -> JsonValue:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _inner(each) for name, each in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [_inner(each) for each in value]
    return _inner(value) if key in _ONE else value


def _inner(value: JsonValue) -> JsonValue:
    return google_schema(value) if isinstance(value, dict) else value
