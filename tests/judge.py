"""Judges request bodies by the rules of the OpenAI APIs, as their 400 answers state them; raises `Unacceptable`.

Stricter than any single server: a history that passes here is accepted by OpenAI and by the compatible servers whose
refusals were recorded.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_TEXT = 10_485_760
LONGEST_CHAT_ID = 40
"""What OpenAI itself takes; its compatible servers have no such limit."""
CLIENT_CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
    "mcp_approval_request": "mcp_approval_response",
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


def judge_chat(body: dict[str, Any], longest_id: int = 4096) -> None:
    """A body for POST /chat/completions, with ids of calls that have at most `longest_id` characters."""
    _judge_common(body)
    if "stream_options" in body and not body.get("stream"):
        raise Unacceptable("stream_options is only allowed when stream is enabled")
    names = {tool["function"]["name"] for tool in body.get("tools", []) if tool.get("type") == "function"}
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
            open_ids = _judge_assistant(message, where, seen, names, longest_id)
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
    ids = [item["id"] for item in items if item.get("id")]
    if len(ids) > len(set(ids)):
        raise Unacceptable(f"Duplicate item found with id: {ids}")
    seen: set[str] = set()
    open_calls: dict[str, str] = {}
    answering = False
    for number, item in enumerate(items):
        where, kind = f"input.{number}", item.get("type", "message")
        if kind in CLIENT_CALLS:
            if answering and open_calls:
                raise Unacceptable(f"{where}: a call between the outputs of {list(open_calls)}")
            answering = False
            open_calls[_judge_call(item, where, seen)] = CLIENT_CALLS[kind]
        elif kind in CLIENT_CALLS.values():
            answering = True
            call_id = item.get("approval_request_id" if kind == "mcp_approval_response" else "call_id")
            expected = open_calls.pop(str(call_id), None)
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
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Unacceptable(f"a character that can't be encoded: {error}") from None
    if not body.get("model"):
        raise Unacceptable("no model")
    tools = body.get("tools")
    if tools is not None and not tools:
        raise Unacceptable("[] is too short: tools")
    brought = any(item.get("type") == "additional_tools" for item in body.get("input", []))
    if body.get("tool_choice") is not None and not tools and not brought:
        raise Unacceptable("tool_choice without tools")
    functions = [tool.get("function", tool) for tool in tools or [] if tool.get("type") == "function"]
    illegal = [function["name"] for function in functions if not NAME.fullmatch(function["name"])]
    if illegal:
        raise Unacceptable(f"tools: illegal names {illegal}")


def _filled(body: dict[str, Any], field: str) -> Any:
    if not body.get(field):
        raise Unacceptable(f"{field} is empty")
    return body[field]


def _judge_assistant(
    message: dict[str, Any], where: str, seen: set[str], names: set[str], longest_id: int
) -> list[str]:
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
        if call["id"] in seen or len(call["id"]) > longest_id:
            raise Unacceptable(f"{where}: the id {call['id']!r} is there twice, or longer than {longest_id}")
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


def _judge_call(item: dict[str, Any], where: str, seen: set[str]) -> str:
    call_id = item.get("id" if item["type"] == "mcp_approval_request" else "call_id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= 64 or call_id in seen:
        raise Unacceptable(f"{where}: call_id {call_id!r} is missing, too long or there twice")
    seen.add(call_id)
    if item["type"] == "function_call":
        _judge_function(item, where, set())
    return call_id


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
    if isinstance(content, str) and len(content) > LONGEST_TEXT:
        raise Unacceptable(f"{where}: string too long, {len(content)} characters")


def _close(open_ids: list[str], call_id: Any, where: str) -> None:
    if call_id not in open_ids:
        raise Unacceptable(f"{where}: tool_call_id {call_id!r} answers none of {open_ids}")
    open_ids.remove(call_id)
