"""The JSON schema of what a model without tool calling may write: one branch per tool, and one for the answer.

Where a server holds the model to it, a tool that does not exist can't be written at all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic import JsonValue

from activities.providers.google_schema import google_schema
from activities.providers.protocol import ToolDeclaration
from workflows.contracts import JsonObject

NAME: Final = "action"
NO_ACTION: Final = "not_an_action"
"""The tool in a call that stands for an answer which is no action; no tool of this name is needed, or found."""

TO_CALL: Final = '{"action": {"kind": "tool_call", "tool": "<name>", "arguments": {…}}}'
TO_ANSWER: Final = '{"action": {"kind": "answer", "answer": …}}'
QUOTED_CHARS = 200


def no_action(written: str) -> str:
    """What the model is told of an answer that is no action."""
    return (
        f"What you wrote is no action, and nothing was done: {written[:QUOTED_CHARS]!r}."
        f" Write one JSON object and nothing else. To use a tool: {TO_CALL}. To give your final answer: {TO_ANSWER}."
    )


def action_schema(tools: Sequence[ToolDeclaration], answer: JsonObject | None) -> JsonObject:
    """The schema of `{"action": …}`; `answer` is the schema of the answer itself, text if there is none."""
    definitions: JsonObject = {}
    branches: list[JsonValue] = [_tool_branch(tool, definitions) for tool in tools]
    branches.append(_branch("answer", answer=_lifted(answer or {"type": "string"}, "answer", definitions)))
    schema: JsonObject = {
        "type": "object",
        "properties": {NAME: {"anyOf": branches} if len(branches) > 1 else branches[0]},
        "required": [NAME],
        "additionalProperties": False,
    }
    return {**schema, "$defs": definitions} if definitions else schema


def _tool_branch(tool: ToolDeclaration, definitions: JsonObject) -> JsonObject:
    arguments = _lifted(tool.schema, tool.name, definitions)
    return _branch("tool_call", tool={"type": "string", "enum": [tool.name]}, arguments=arguments)


def _branch(kind: str, **fields: JsonValue) -> JsonObject:
    properties: JsonObject = {"kind": {"type": "string", "enum": [kind]}, **fields}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _lifted(schema: JsonObject, owner: str, definitions: JsonObject) -> JsonObject:
    """The schema with its own definitions moved to the root's, each under a name that says whose it is."""
    for name, definition in cast("dict[str, JsonObject]", schema.get("$defs", {})).items():
        definitions[f"{owner}.{name}"] = cast(JsonObject, _renamed(definition, owner))
    return cast(JsonObject, _renamed({key: value for key, value in schema.items() if key != "$defs"}, owner))


def _renamed(value: JsonValue, owner: str) -> JsonValue:
    if isinstance(value, list):
        return [_renamed(item, owner) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _renamed(item, owner) for key, item in value.items()}
    reference = renamed.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        renamed["$ref"] = f"#/$defs/{owner}.{reference.removeprefix('#/$defs/')}"
    return renamed


def is_strict(schema: JsonValue) -> bool:
    """Whether OpenAI's strict mode takes the schema: each object closed, and each of its properties required.

    Source: OpenAI's guide to structured outputs, "Supported schemas".
    """
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = cast(JsonObject, schema.get("properties", {}))
        required = cast("list[str]", schema.get("required", []))
        if schema.get("additionalProperties") is not False or set(required) != set(properties):
            return False
    return all(is_strict(item) for item in schema.values())


def constrained(api: str, schema: JsonObject, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The settings of a request whose answer has to fit the schema, where this API says so.

    A form that the settings ask for themselves stays: some servers know `{"type": "json_object"}` only.
    """
    named: JsonObject = {"name": NAME, "schema": schema, "strict": is_strict(schema)}
    where: dict[str, tuple[str, str | None, JsonObject]] = {
        "openai_chat": ("response_format", None, {"type": "json_schema", "json_schema": named}),
        "openai_responses": ("text", "format", {"type": "json_schema", **named}),
        "anthropic_messages": ("output_config", "format", {"type": "json_schema", "schema": schema}),
    }
    made: dict[str, Any] = dict(settings)
    if api == "google_generate_content":
        made["generationConfig"] = _google_form(schema, cast(JsonObject, made.get("generationConfig") or {}))
    if api in where:
        key, inner, form = where[api]
        if inner is None:
            made.setdefault(key, form)
        else:
            made[key] = {inner: form, **cast(JsonObject, made.get(key) or {})}
    return made


def _google_form(schema: JsonObject, config: JsonObject) -> JsonObject:
    if config.keys() & {"responseMimeType", "responseSchema", "responseJsonSchema"}:
        return config
    return {**config, "responseMimeType": "application/json", "responseJsonSchema": google_schema(schema)}
