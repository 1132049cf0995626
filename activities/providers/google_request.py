"""Builds the body of a request to Google's generateContent API.

An agent's settings are fields of the body, in the API's own spelling: sampling and thinking stand in
`generationConfig`, as in {"generationConfig": {"temperature": 0.2, "thinkingConfig": {"thinkingLevel": "low"}}}.
"""

from typing import Final

from pydantic import JsonValue

from activities.providers.errors import Rejected
from activities.providers.google_history import write_contents
from activities.providers.google_names import google_name
from activities.providers.google_schema import google_schema
from activities.providers.json_text import MAX_DEPTH, clean_json
from activities.providers.protocol import ModelRequest, ToolDeclaration
from workflows.contracts import JsonObject

_OURS: Final = frozenset({"contents", "model", "systemInstruction"})


def build_body(request: ModelRequest) -> JsonObject:
    """The body of the request. Raises `Rejected` for settings that can't be honoured."""
    settings = dict(request.settings)
    _check(settings)
    body: JsonObject = {**settings, "contents": [*write_contents(request.transcript, request.model)]}
    if request.instructions.strip():
        body["systemInstruction"] = {"parts": [{"text": request.instructions}]}
    own_tools = settings.get("tools")
    tools: list[JsonValue] = [*own_tools] if isinstance(own_tools, list) else []
    if request.tools:
        tools.append({"functionDeclarations": [_declaration(tool) for tool in request.tools]})
    if tools:
        body["tools"] = tools
    if tools and request.tool_choice == "none":
        body["toolConfig"] = {**_object(settings, "toolConfig"), "functionCallingConfig": {"mode": "NONE"}}
    if request.max_output_tokens is not None:
        body["generationConfig"] = {
            **_object(settings, "generationConfig"),
            "maxOutputTokens": request.max_output_tokens,
        }
    cleaned = clean_json(body, 2 * MAX_DEPTH)
    return cleaned if isinstance(cleaned, dict) else body


def _check(settings: dict[str, JsonValue]) -> None:
    if taken := sorted(_OURS & settings.keys()):
        raise Rejected(f"the model settings hold {', '.join(taken)}, which Surefoot sets itself; take it out of them")
    if snakes := sorted(key for key in settings if "_" in key):
        raise Rejected(
            f"the model settings hold {', '.join(snakes)}, which Google's API knows by another spelling; "
            "write its fields as its reference does: generationConfig, safetySettings, toolConfig"
        )


def _declaration(tool: ToolDeclaration) -> JsonObject:
    return {
        "name": google_name(tool.name),
        "description": tool.description,
        "parametersJsonSchema": google_schema(tool.schema),
    }


def _object(settings: dict[str, JsonValue], key: str) -> JsonObject:
    value = settings.get(key, {})
    if not isinstance(value, dict):
        raise Rejected(f"the model setting {key} is {value!r}; it must be an object")
    return value
