"""Drives the Google adapter over replayed answers. The tests that import this need google-genai, an extra."""

from typing import Any

import pytest

from activities.providers.google_client import GoogleClient
from activities.providers.google_generate_content import GoogleGenerateContent, sdk_client
from activities.providers.protocol import ModelRequest, ToolDeclaration
from tests.extras import HAS_GOOGLE, NO_GOOGLE
from tests.traffic import Answer, Exchange, Replay
from workflows.contracts import Entry, JsonObject, Message, Turn

if not HAS_GOOGLE:
    pytest.skip(NO_GOOGLE, allow_module_level=True)

ADD = ToolDeclaration("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
ASK: list[Entry] = [Message(text="Add 2 and 3")]
SIGNATURE = "c2lnbmF0dXJlKys/"


def google(replay: Replay) -> GoogleGenerateContent:
    http = GoogleClient(transport=replay)
    return GoogleGenerateContent(sdk_client(http, api_key="test-key"), http)


def request(transcript: list[Entry] | None = None, **fields: Any) -> ModelRequest:
    defaults: dict[str, Any] = {"model": "gemini-3-pro-preview", "instructions": "", "tools": (ADD,)}
    return ModelRequest(transcript=ASK if transcript is None else transcript, **(defaults | fields))


def candidate(*parts: Any, reason: str | None = "STOP", **fields: Any) -> JsonObject:
    """An answer with one candidate of these parts."""
    said: JsonObject = {"content": {"role": "model", "parts": [*parts]}, "finishReason": reason, **fields}
    usage: JsonObject = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
    return {"candidates": [said], "usageMetadata": usage}


def call(name: str = "add", args: Any = None, **fields: Any) -> JsonObject:
    """A part with a function call; `signature` and `id` where the model sends them."""
    signature = fields.pop("signature", None)
    made: JsonObject = {"name": name, "args": {} if args is None else args, **fields}
    return {"functionCall": made, **({"thoughtSignature": signature} if signature else {})}


async def turn_of(body: Any, **fields: Any) -> Turn:
    """The turn that the adapter makes of this answer."""
    return await google(Replay(Answer(body))).complete(request(**fields))


async def sent(transcript: list[Entry], **fields: Any) -> Any:
    """The body of the request that the adapter sends for this transcript."""
    replay = Replay(Answer(candidate({"text": "ok"})))
    await google(replay).complete(request(transcript, **fields))
    return replay.sent[0]


def is_google(exchange: Exchange) -> bool:
    return "googleapis.com" in exchange.url
