"""What Anthropic's Messages API accepts: `judge_messages` fails as the API's 400 would, with the path of the fault.

The rules come from the API's own error texts (recorded, or quoted in public reports) and from its reference.
A rule that the API has and this file lacks is a hole in every test of the adapter.
"""

import json
import re
from typing import Any

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
THINKING = {"thinking", "redacted_thinking"}
SERVER_CALLS = {"server_tool_use", "mcp_tool_use"}
UNCACHEABLE = THINKING
MAX_MARKS = 4
MAX_BYTES = 32_000_000


class WouldBeRejected(AssertionError):
    """The API would answer 400."""


def judge_messages(body: Any) -> None:
    """Raise `WouldBeRejected` if the request body breaks a rule."""
    _judge_size(body)
    messages = body.get("messages")
    _require(isinstance(messages, list) and len(messages) > 0, "messages: at least one message is required")
    _require(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    _require(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
    _require(messages[0]["role"] == "user", "messages: first message must use the user role")
    for index, message in enumerate(messages):
        _judge_message(message, f"messages.{index}")
    for index in range(1, len(messages)):
        # The API joins messages of one role; ours must not rely on it.
        _require(messages[index]["role"] != messages[index - 1]["role"], f"messages.{index}: same role twice")
    _judge_calls(messages)
    _judge_server_calls(messages)
    _judge_tools(body, messages)
    _judge_thinking(body, messages)
    _judge_marks(body, messages)


def _judge_size(body: Any) -> None:
    try:
        size = len(json.dumps(body, ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise WouldBeRejected(f"The request body is not valid JSON: {error}") from None
    _require(size <= MAX_BYTES, f"request_too_large: Request exceeds the maximum size ({size} bytes)")


def _require(holds: object, fault: str) -> None:
    if not holds:
        raise WouldBeRejected(fault)


def _judge_message(message: Any, path: str) -> None:
    _require(set(message) == {"role", "content"}, f"{path}: unexpected keys {sorted(message)}")
    _require(message["role"] in ("user", "assistant"), f"{path}.role: {message['role']}")
    content = message["content"]
    _require(isinstance(content, list) and content, f"{path}: all messages must have non-empty content")
    for index, block in enumerate(content):
        at = f"{path}.content.{index}"
        _require(isinstance(block, dict) and isinstance(block.get("type"), str), f"{at}.type: Field required")
        if block["type"] == "text":
            _require(block.get("text", "").strip(), f"{at}: text content blocks must contain non-whitespace text")
        if message["role"] == "user":
            _require(block["type"] in ("text", "tool_result"), f"{at}: {block['type']} in a user message")
        else:
            _require(block["type"] not in ("tool_result", "document"), f"{at}: {block['type']} in an assistant message")
    if message["role"] == "assistant":
        last = content[-1]["type"]
        _require(last not in THINKING, f"{path}: The final block in an assistant message cannot be `{last}`")


def _judge_calls(messages: Any) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        for call in calls:
            path = f"messages.{index}: tool_use"
            _require(ID.fullmatch(call["id"]), f"{path}.id: String should match pattern, got {call['id']!r}")
            _require(call["id"] not in seen, f"{path}: `tool_use` ids must be unique, got {call['id']!r} again")
            _require(NAME.fullmatch(call["name"]), f"{path}.name: String should match pattern, got {call['name']!r}")
            _require(isinstance(call["input"], dict), f"{path}.input: Input should be a valid dictionary")
            seen.add(call["id"])
        answers = messages[index + 1]["content"] if index + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in answers if block["type"] == "tool_result"]
        wanted = [call["id"] for call in calls]
        missing = [each for each in wanted if each not in answered]
        _require(not missing, f"messages.{index}: `tool_use` ids without `tool_result` blocks right after: {missing}")
        if message["role"] == "assistant":
            _require(sorted(answered) == sorted(wanted), f"messages.{index + 1}: unexpected or repeated tool_use_id")
            kinds = [block["type"] for block in answers]
            _require(kinds == sorted(kinds, key="tool_result".__ne__), f"messages.{index + 1}: a text before a result")
    first = [block for block in messages[0]["content"] if block["type"] == "tool_result"]
    _require(not first, "messages.0: `tool_result` without a `tool_use` before it")


def _judge_server_calls(messages: Any) -> None:
    """Only the last assistant message may hold a server call that has no result yet, and only while it is going on."""
    blocks = [(i, b) for i, m in enumerate(messages) if m["role"] == "assistant" for b in m["content"]]
    latest = max((i for i, _ in blocks), default=-1)
    texts_after = [b for m in messages[latest + 1 :] for b in m["content"] if b["type"] == "text"]
    has_calls = any(i == latest and b["type"] == "tool_use" for i, b in blocks)
    called: set[str] = set()
    answered = {b["tool_use_id"] for _, b in blocks if "tool_use_id" in b}
    for index, block in blocks:
        if block["type"] in SERVER_CALLS:
            called.add(block["id"])
            goes_on = index == latest and (has_calls or not texts_after)
            _require(block["id"] in answered or goes_on, f"messages.{index}: {block['type']} without its result block")
        elif "tool_use_id" in block:
            _require(block["tool_use_id"] in called, f"messages.{index}: {block['type']} without its call before it")


def _judge_tools(body: Any, messages: Any) -> None:
    tools = body.get("tools", [])
    used = any(block["type"] == "tool_use" for message in messages for block in message["content"])
    _require(tools or not used, "tools: Requests which include `tool_use` blocks must define tools")
    _require(tools or "tool_choice" not in body, "tool_choice: may only be specified while providing tools")
    names = [tool["name"] for tool in tools if "name" in tool]
    _require(len(names) == len(set(names)), "tools: Tool names must be unique")
    for index, tool in enumerate(tools):
        if "type" not in tool:
            _require(NAME.fullmatch(tool["name"]), f"tools.{index}.name: String should match pattern")
            schema = tool.get("input_schema", {})
            _require(schema.get("type") == "object", f"tools.{index}.input_schema.type: must be object")
        marked = "cache_control" in tool and tool.get("defer_loading")
        _require(not marked, f"tools.{index}: a deferred tool can't have cache_control")


def _judge_thinking(body: Any, messages: Any) -> None:
    thinking = body.get("thinking", {"type": "disabled"})
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] == "thinking":
                _require(block.get("signature"), f"messages.{index}: thinking.signature: Field required")
    if thinking["type"] == "disabled":
        return
    choice = body.get("tool_choice", {"type": "auto"})["type"]
    _require(choice in ("auto", "none"), "tool_choice: Thinking may not be enabled when tool_choice forces tool use")
    if thinking["type"] == "enabled":
        _require(1024 <= thinking["budget_tokens"] < body["max_tokens"], "max_tokens: must be greater than the budget")
        _judge_final_turn(messages)


def _judge_final_turn(messages: Any) -> None:
    start: Any = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            start = message
        elif all(block["type"] != "tool_result" for block in message["content"]):
            break
    if start is not None:
        first = start["content"][0]["type"]
        _require(first in THINKING, f"Expected `thinking` or `redacted_thinking`, but found `{first}`")


def _judge_marks(body: Any, messages: Any) -> None:
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for message in messages for block in message["content"]]
    marked = [block for block in blocks if block.get("cache_control") is not None]
    count = len(marked) + ("cache_control" in body)
    _require(count <= MAX_MARKS, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    for block in marked:
        _require(block.get("type") not in UNCACHEABLE, f"{block.get('type')}: cache_control is not permitted")
