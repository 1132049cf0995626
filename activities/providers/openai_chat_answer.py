"""Reads a Chat Completions answer into a `Turn`.

The presence of tool calls decides, not `finish_reason`: genuine OpenAI ends forced calls with "stop", and compatible
servers write anything there. Empty strings mean absent, since some servers fill each unused field with a zero.
"""

import json
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from activities.providers.errors import MalformedAnswer, Overloaded
from activities.providers.json_text import clean_json, clean_text, parse_arguments
from activities.providers.protocol import ModelRequest, call_id
from activities.providers.tool_names import UNKNOWN
from activities.providers.usage_counts import count, counts, measured
from workflows.contracts import (
    CallPart,
    JsonObject,
    Native,
    Part,
    ReasoningPart,
    RefusalPart,
    StopReason,
    TextPart,
    Turn,
    Usage,
)

STOPS: Final[Mapping[str, StopReason]] = {
    "": "end",
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    "tool_calls": "end",
    "function_call": "end",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "content_filter",
}
FAILED = frozenset({"error", "network_error", "insufficient_system_resource"})


def chat_turn(answer: JsonObject, request: ModelRequest, api: str) -> Turn:
    """The turn of an answer to POST /chat/completions; MalformedAnswer if there is no message in it."""
    message, finish = _message(answer)
    calls = _calls(message, request.turn)  # from the uncleaned text: lone surrogates make arguments malformed
    parts: list[Part] = [*_reasoning(message), *_texts(message), *calls]
    # A legacy function_call can't be answered by a tool message, so such a turn is rebuilt as a tool call.
    native = None if calls and not message.get("tool_calls") else _native(message, api)
    return Turn(
        number=request.turn,
        parts=parts,
        native=native,
        stop=_stop(finish, parts),
        stop_detail=finish or None,
        model=_text(answer.get("model")) or request.model,
        usage=measured(_usage(answer.get("usage")), parts),
        **({"tier": "flex"} if answer.get("service_tier") == "flex" else {}),
    )


def _message(answer: JsonObject) -> tuple[JsonObject, str]:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise MalformedAnswer(f"the answer holds no message: its fields are {', '.join(answer) or 'none'}")
    finish = _text(choice.get("finish_reason"))
    if finish in FAILED:
        raise Overloaded(f"the provider broke off the answer with finish_reason {finish!r}")
    return message, finish


def _native(message: JsonObject, api: str) -> Native:
    try:
        return Native(api=api, items=[clean_json({"role": "assistant", **message})])
    except ValueError as error:
        raise MalformedAnswer(f"the answer can't be kept: {error}") from None


def _reasoning(message: JsonObject) -> list[Part]:
    text = _text(message.get("reasoning")) or _text(message.get("reasoning_content"))
    if not text:
        details = message.get("reasoning_details") or message.get("content")
        found = [_thought(detail) for detail in details] if isinstance(details, list) else []
        text = "\n".join(filter(None, found))
    return [ReasoningPart(text=text)] if text.strip() else []


def _thought(item: JsonValue) -> str:
    """The text of a `reasoning_details` entry or of a "thinking" part of the content (Mistral)."""
    if not isinstance(item, dict):
        return ""
    if item.get("type") == "thinking":
        inner = item.get("thinking")
        return _joined(inner) if isinstance(inner, list) else _text(inner)
    if _text(item.get("type")).startswith("reasoning"):
        return _text(item.get("text")) or _text(item.get("summary"))
    return ""


def _texts(message: JsonObject) -> list[Part]:
    content = message.get("content")
    text = _joined(content) if isinstance(content, list) else _text(content)
    refusal = _text(message.get("refusal"))
    parts: list[Part] = [TextPart(text=text)] if text.strip() else []
    return [*parts, RefusalPart(text=refusal)] if refusal.strip() else parts


def _joined(content: list[JsonValue]) -> str:
    return "".join(_text(part.get("text")) if isinstance(part, dict) else _text(part) for part in content)


def _calls(message: JsonObject, turn: int) -> list[CallPart]:
    found = message.get("tool_calls")
    items: list[JsonValue] = found if isinstance(found, list) else []
    legacy = message.get("function_call")
    if not items and isinstance(legacy, dict) and _text(legacy.get("name")):
        items = [{"type": "function", "function": legacy}]
    return [_call(item, call_id(turn, index)) for index, item in enumerate(items)]


def _call(item: JsonValue, own_id: str) -> CallPart:
    """A call of any type; what is no function call gets no arguments, so that the loop answers it as an error."""
    fields: JsonObject = item if isinstance(item, dict) else {}
    kind = _text(fields.get("type")) or ("custom" if "custom" in fields and "function" not in fields else "function")
    provider_id = _text(fields.get("id")) or None
    body = fields.get(kind)
    named: JsonObject = body if isinstance(body, dict) else {}
    tool = _text(named.get("name"))
    if kind == "function" and named:
        arguments, raw = parse_arguments(named.get("arguments"))
        return CallPart(id=own_id, provider_id=provider_id, tool=tool or UNKNOWN, arguments=arguments, raw=raw)
    raw = _text(named.get("input")) or clean_text(json.dumps(item, ensure_ascii=False))
    return CallPart(id=own_id, provider_id=provider_id, tool=tool or (kind if named else UNKNOWN), raw=raw)


def _stop(finish: str, parts: list[Part]) -> StopReason:
    stop = STOPS.get(finish.lower(), "unknown")
    if stop in ("max_tokens", "content_filter"):
        return stop
    if any(isinstance(part, CallPart) for part in parts):
        return "tool_calls"
    return "refusal" if any(isinstance(part, RefusalPart) for part in parts) else stop


def _usage(usage: JsonValue) -> Usage:
    fields = counts(usage)
    prompt, answered = count(fields, "prompt_tokens"), count(fields, "completion_tokens")
    reasoning = count(counts(fields.get("completion_tokens_details")), "reasoning_tokens")
    # xAI counts reasoning beside the completion, all others inside; the total tells which.
    beside = reasoning > 0 and count(fields, "total_tokens") == prompt + answered + reasoning
    details = counts(fields.get("prompt_tokens_details"))
    cached = count(details, "cached_tokens") or count(fields, "prompt_cache_hit_tokens", "num_cached_tokens")
    return Usage(
        input_tokens=prompt,
        output_tokens=answered + reasoning if beside else answered,
        cached_tokens=cached,
        cache_write_tokens=count(details, "cache_write_tokens"),
        reasoning_tokens=reasoning,
        model_calls=1,
    )


def _text(value: JsonValue) -> str:
    return clean_text(value) if isinstance(value, str) else ""
