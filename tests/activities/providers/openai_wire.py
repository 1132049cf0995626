"""Drives the OpenAI adapters with recorded exchanges, and puts requests into a form in which two can be compared."""

import json
from typing import Any

from openai import AsyncOpenAI

from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.protocol import ModelRequest, ToolDeclaration
from tests.traffic import Exchange, Replay
from workflows.contracts import Entry, Message, Result, Turn

ADD = ToolDeclaration(
    name="add",
    description="Adds.",
    schema={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
)
ASK: list[Entry] = [Message(text="Add 2 and 3")]


def sdk(replay: Replay, base_url: str = "https://api.openai.com/v1") -> AsyncOpenAI:
    return AsyncOpenAI(api_key="test-key", base_url=base_url, max_retries=0, http_client=replay.client())


def chat(replay: Replay, base_url: str = "https://api.openai.com/v1") -> OpenAIChat:
    return OpenAIChat(sdk(replay, base_url))


def responses(replay: Replay, base_url: str = "https://api.openai.com/v1") -> OpenAIResponses:
    return OpenAIResponses(sdk(replay, base_url))


def request(transcript: list[Entry] | None = None, **fields: Any) -> ModelRequest:
    defaults: dict[str, Any] = {"model": "m", "instructions": "", "tools": (ADD,)}
    return ModelRequest(transcript=ASK if transcript is None else transcript, **(defaults | fields))


def base_url(exchange: Exchange) -> str:
    url = exchange.url if exchange.url.startswith("http") else "http://localhost/v1/chat/completions"
    return url.partition("#")[0].removesuffix("/chat/completions").removesuffix("/responses")


def declared(exchange: Exchange) -> tuple[ToolDeclaration, ...]:
    """The function tools that a recorded request declares."""
    tools = [tool.get("function", tool) for tool in (exchange.request_body or {}).get("tools", [])]
    return tuple(
        ToolDeclaration(name=tool["name"], description=tool.get("description", ""), schema=tool["parameters"])
        for tool in tools
        if "name" in tool and "parameters" in tool
    )


def transcript_of_chat(messages: list[dict[str, Any]], turns: list[Turn]) -> list[Entry]:
    """The transcript behind recorded messages, with our own turns in the places of the assistant's."""
    entries: list[Entry] = []
    left, turn = list(turns), Turn()
    for message in messages:
        if message["role"] == "assistant":
            turn = left.pop(0)
            entries.append(turn)
        elif message["role"] == "tool":
            entries.append(_result(turn, message["tool_call_id"], message["content"]))
        elif message["role"] == "user":
            entries.append(Message(text=message["content"]))
    assert not left
    return entries


def transcript_of_responses(items: list[dict[str, Any]], turns: list[Turn]) -> list[Entry]:
    """The transcript behind recorded input items; each run of the model's items is one of our turns."""
    entries: list[Entry] = []
    left, turn, inside = list(turns), Turn(), False
    for item in items:
        if str(item.get("type", "")).endswith("_output"):
            entries.append(_result(turn, item["call_id"], item.get("output", "")))
            inside = False
        elif item.get("role") == "user":
            entries.append(Message(text=_text(item["content"])))
            inside = False
        elif not inside and left:
            turn, inside = left.pop(0), True
            entries.append(turn)
    assert not left
    return entries


def _result(turn: Turn, provider_id: str, content: str) -> Result:
    call = next(call for call in turn.calls if call.provider_id == provider_id)
    return Result(call=call.id, tool=call.tool, content=content)


def compared_chat(messages: list[dict[str, Any]]) -> list[Any]:
    """Messages reduced to what both sides must agree on: order, roles, texts, pairing, arguments."""
    return [
        (
            message["role"],
            message.get("content") or None,
            message.get("tool_call_id"),
            [_compared_call(call) for call in message.get("tool_calls") or []],
        )
        for message in messages
    ]


def _compared_call(call: dict[str, Any]) -> tuple[str, str, Any]:
    return call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])


def compared_responses(items: list[dict[str, Any]]) -> list[Any]:
    """Items reduced to what both sides must agree on; reasoning and ids are looked at by tests of their own."""
    seen: list[Any] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            seen.append((kind, item["call_id"], item["name"], json.loads(item["arguments"])))
        elif kind == "function_call_output":
            seen.append((kind, item["call_id"], item["output"]))
        elif kind == "message" and item["content"]:
            seen.append((item["role"], _text(item["content"])))
    return seen


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
