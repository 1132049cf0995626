"""Writes a Chat Completions request from a transcript.

An assistant message of this API goes back as it came, reasoning fields of any vendor included, but for four things that
servers reject: fields that only answers have, unused fields filled with zeros, illegal or repeated ids, and arguments
that are no JSON object (chat templates parse them again and fail for good).
"""

import hashlib
import json
from collections.abc import Sequence

from pydantic import JsonValue

from activities.providers.json_text import clean_text, parse_arguments
from activities.providers.openai_vendors import REASONING, Vendor
from activities.providers.protocol import ModelRequest, ToolDeclaration
from activities.providers.rendering import message_text, note_text, result_text
from activities.providers.tool_names import wire_name
from activities.providers.wire_ids import wire_ids
from workflows.contracts import CallPart, Entry, JsonObject, Message, Note, RefusalPart, Result, Turn

_ANSWER_ONLY = frozenset({"annotations", "audio", "function_call", "provider_metadata"})


def chat_request(request: ModelRequest, api: str, vendor: Vendor) -> JsonObject:
    """The body for POST /chat/completions. Native messages of other APIs than `api` are rebuilt from neutral parts."""
    body: JsonObject = {**request.settings, "model": request.model, "messages": _Messages(request, api, vendor).all()}
    own_tools = request.settings.get("tools")
    tools = [*(own_tools if isinstance(own_tools, list) else []), *map(_tool, request.tools)]
    if tools:
        body["tools"] = tools
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    if request.max_output_tokens is not None:
        body[vendor.max_tokens] = request.max_output_tokens
    if request.streamed_to is not None:
        body["stream"] = True
        if not vendor.usage_unasked:
            own = body.get("stream_options")
            body["stream_options"] = {**(own if isinstance(own, dict) else {}), "include_usage": True}
    return body


def _tool(tool: ToolDeclaration) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


class _Messages:
    """Renders each entry of one transcript; ids and names are settled for the transcript as a whole."""

    def __init__(self, request: ModelRequest, api: str, vendor: Vendor) -> None:
        self._request = request
        self._api = api
        self._vendor = vendor
        self._ids = wire_ids(request.transcript, vendor.call_ids, self._minted)
        self._declared = {tool.name for tool in request.tools}

    def all(self) -> list[JsonValue]:
        instructions = self._request.instructions
        system: list[JsonValue] = [{"role": "system", "content": instructions}] if instructions.strip() else []
        return system + self._entries(self._request.transcript)

    def _entries(self, entries: Sequence[Entry]) -> list[JsonValue]:
        return [message for entry in entries for message in self._entry(entry)]

    def _entry(self, entry: Entry) -> list[JsonObject]:
        match entry:
            case Message():
                return [{"role": "user", "content": message_text(entry)}]
            case Note():
                return [{"role": "user", "content": note_text(entry)}]
            case Result():
                call_id = self._ids.get(entry.call, entry.call)
                return [{"role": "tool", "tool_call_id": call_id, "content": result_text(entry)}]
            case Turn():
                return self._turn(entry)

    def _turn(self, turn: Turn) -> list[JsonObject]:
        native = turn.native
        if native is not None and native.api == self._api and len(native.items) == 1:
            item = native.items[0]
            message = self._sent_back(item, turn.calls) if isinstance(item, dict) else self._rebuilt(turn)
        else:
            message = self._rebuilt(turn)
        said = message.get("content") or message.get("tool_calls") or message.get("refusal")
        return [message] if said else []  # an empty assistant message is rejected by most servers

    def _rebuilt(self, turn: Turn) -> JsonObject:
        text = turn.text or "\n".join(part.text for part in turn.parts if isinstance(part, RefusalPart))
        message: JsonObject = {"role": "assistant", "content": text or None}
        if turn.calls:
            message["tool_calls"] = [self._call(call) for call in turn.calls]
        return message

    def _call(self, call: CallPart) -> JsonObject:
        function: JsonObject = {"name": wire_name(call.tool, self._declared), "arguments": wire_arguments(call)}
        return {"id": self._ids[call.id], "type": "function", "function": function}

    def _sent_back(self, native: JsonObject, calls: Sequence[CallPart]) -> JsonObject:
        dropped = _ANSWER_ONLY | self._vendor.not_sent
        message = {
            key: value
            for key, value in native.items()
            if key not in dropped and (key in ("role", "content") or _is_thought(key, value) or not _is_zero(value))
        }
        own = native.get("tool_calls")
        if isinstance(own, list) and len(own) == len(calls):
            message["tool_calls"] = [self._call_back(item, call) for item, call in zip(own, calls, strict=True)]
        elif calls:
            message["tool_calls"] = [self._call(call) for call in calls]
        return message

    def _call_back(self, native: JsonValue, call: CallPart) -> JsonObject:
        if not isinstance(native, dict):
            return self._call(call)
        item = {key: value for key, value in native.items() if key != "index" and not _is_zero(value)}
        item["id"] = self._ids[call.id]
        function = native.get("function")
        if not isinstance(function, dict):
            return item if item.get("type", "function") != "function" else self._call(call)
        item["type"] = "function"
        item["function"] = {
            **function,
            "name": wire_name(call.tool, self._declared),
            "arguments": _kept_arguments(function.get("arguments"), call),
        }
        return item

    def _minted(self, own: str) -> str:
        length = self._vendor.id_length
        return own if length is None else hashlib.sha256(own.encode()).hexdigest()[:length]


def wire_arguments(call: CallPart) -> str:
    """The arguments as a JSON object; those that were malformed are wrapped, so that the model sees what it wrote."""
    value: JsonObject = {"malformed_arguments": call.raw} if call.arguments is None else call.arguments
    return json.dumps(value, ensure_ascii=False)


def _kept_arguments(raw: JsonValue, call: CallPart) -> str:
    """The provider's own text where it is a JSON object."""
    if isinstance(raw, str) and raw.strip() and parse_arguments(raw)[0] is not None:
        return clean_text(raw)
    return wire_arguments(call)


def _is_thought(key: str, value: JsonValue) -> bool:
    """Is this a reasoning field? DeepSeek wants it back even if it is empty."""
    return key in REASONING and isinstance(value, str)


def _is_zero(value: JsonValue) -> bool:
    """Is this what some servers put into fields that they do not use?"""
    if isinstance(value, dict):
        return all(map(_is_zero, value.values()))
    return value in (None, "", 0, False) or value == []
