"""Judges request bodies by the rules of the OpenAI APIs, as their 400 answers state them; raises `Unacceptable`.

Stricter than any single server: a history that passes here is accepted by OpenAI and by the compatible servers whose
refusals were recorded.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CLIENT_CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
}
MESSAGE_FIELDS = frozenset(
    {
        "role",
        "content",
        "tool_calls",
        "refusal",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "name",
        "prefix",
    }
)


class Unacceptable(AssertionError):
    """A provider would answer 400."""


def judge_chat(body: dict[str, Any]) -> None:
    """A body for POST /chat/completions."""
    _judge_common(body)
    names = {tool["function"]["name"] for tool in body.get("tools", []) if tool.get("type") == "function"}
    if body.get("tool_choice") is not None and not body.get("tools"):
        raise Unacceptable("tool_choice without tools")
    seen: set[str] = set()
    open_ids: list[str] = []
    for number, message in enumerate(_filled(body, "messages")):
        where = f"messages.{number}"
        role = message.get("role")
        if role == "tool":
            _close(open_ids, message.get("tool_call_id"), where)
            _text(message.get("content"), where)
            continue
        if open_ids:
            raise Unacceptable(f"{where}: a {role} message while {open_ids} have no tool message")
        if role == "assistant":
            open_ids = _judge_assistant(message, where, seen, names)
        elif role in ("system", "developer", "user"):
            _text(message.get("content"), where)
        else:
            raise Unacceptable(f"{where}: role {role!r}")
    if open_ids:
        raise Unacceptable(f"the calls {open_ids} have no tool message")


def judge_responses(body: dict[str, Any]) -> None:
    """A body for POST /responses. With `previous_response_id`, outputs may answer calls that the server holds."""
    _judge_common(body)
    items: list[dict[str, Any]] = _filled(body, "input")
    chained = body.get("previous_response_id") is not None
    seen: set[str] = set()
    open_calls: dict[str, str] = {}
    answering = False
    for number, item in enumerate(items):
        where, kind = f"input.{number}", item.get("type", "message")
        if kind in CLIENT_CALLS:
            if answering and open_calls:
                raise Unacceptable(f"{where}: a call between the outputs of {list(open_calls)}")
            answering = False
            _judge_call(item, where, seen)
            open_calls[item["call_id"]] = CLIENT_CALLS[kind]
        elif kind in CLIENT_CALLS.values():
            answering = True
            expected = open_calls.pop(item["call_id"], None)
            if expected != kind and not (chained and expected is None):
                raise Unacceptable(f"{where}: {kind} answers no open call, or one that wants {expected}")
        elif kind == "message":
            if open_calls:
                raise Unacceptable(f"{where}: a message while {list(open_calls)} have no output")
            _judge_message(item, where)
        elif kind == "reasoning":
            _judge_reasoning(body, items, number)
    if open_calls:
        raise Unacceptable(f"No tool output found for {list(open_calls)}")


def _judge_common(body: dict[str, Any]) -> None:
    json.dumps(body, ensure_ascii=False).encode()
    if not body.get("model"):
        raise Unacceptable("no model")


def _filled(body: dict[str, Any], field: str) -> Any:
    if not body.get(field):
        raise Unacceptable(f"{field} is empty")
    return body[field]


def _judge_assistant(message: dict[str, Any], where: str, seen: set[str], names: set[str]) -> list[str]:
    unknown = set(message) - MESSAGE_FIELDS
    if unknown:
        raise Unacceptable(f"{where}: fields that no request has: {sorted(unknown)}")
    calls: Sequence[dict[str, Any]] = message.get("tool_calls") or []
    if "tool_calls" in message and not calls:
        raise Unacceptable(f"{where}: tool_calls is empty")
    if not calls and not message.get("content") and not message.get("refusal"):
        raise Unacceptable(f"{where}: neither content nor tool_calls")
    for call in calls:
        if call.get("type") not in ("function", "custom") or not call.get("id"):
            raise Unacceptable(f"{where}: a call without type or id: {call}")
        if call["id"] in seen:
            raise Unacceptable(f"{where}: the id {call['id']!r} is there twice")
        seen.add(call["id"])
        if call["type"] == "function":
            _judge_function(call["function"], where, names)
    return [call["id"] for call in calls]


def _judge_function(function: dict[str, Any], where: str, names: set[str]) -> None:
    if not NAME.fullmatch(function["name"]) and function["name"] not in names:
        raise Unacceptable(f"{where}: illegal name {function['name']!r}")
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError) as error:
        raise Unacceptable(f"{where}: arguments can't be parsed: {error}") from None
    if not isinstance(arguments, dict):
        raise Unacceptable(f"{where}: arguments are no object")


def _judge_call(item: dict[str, Any], where: str, seen: set[str]) -> None:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= 64 or call_id in seen:
        raise Unacceptable(f"{where}: call_id {call_id!r} is missing, too long or there twice")
    seen.add(call_id)
    if item["type"] == "function_call":
        _judge_function(item, where, set())


def _judge_message(item: dict[str, Any], where: str) -> None:
    if item.get("role") not in ("user", "assistant", "system", "developer"):
        raise Unacceptable(f"{where}: role {item.get('role')!r}")
    _text(item.get("content"), where)


def _judge_reasoning(body: dict[str, Any], items: Sequence[dict[str, Any]], number: int) -> None:
    item = items[number]
    follower = items[number + 1] if number + 1 < len(items) else {"type": "end"}
    kind = follower.get("type", "message")
    unbound = bool(item.get("encrypted_content")) and "id" not in follower
    if kind == "end" or kind.endswith("_output") or unbound:
        raise Unacceptable(f"Item {item.get('id')!r} of type 'reasoning' without its required following item")
    if body.get("store") is False and not item.get("encrypted_content") and not item.get("content"):
        raise Unacceptable(f"Item {item.get('id')!r} not found: items are not persisted when store is false")


def _text(content: Any, where: str) -> None:
    if not content:
        raise Unacceptable(f"{where}: empty content")


def _close(open_ids: list[str], call_id: Any, where: str) -> None:
    if call_id not in open_ids:
        raise Unacceptable(f"{where}: tool_call_id {call_id!r} answers none of {open_ids}")
    open_ids.remove(call_id)
