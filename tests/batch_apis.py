"""The stand-ins of both batch APIs, running, with answers that any test can tell apart."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.batches import BatchProvider
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_responses import OpenAIResponses
from stand_ins.anthropic_batches import AnthropicStandIn
from stand_ins.books import Answer, Body, Books
from stand_ins.openai_batches import OpenAIStandIn
from stand_ins.serving import serving
from stand_ins.webhook import Webhook

APIS = ("openai", "openai-chat", "anthropic")
MODELS = {
    "openai": "openai:gpt-4o",
    "openai-chat": "openai-chat:gpt-4o",
    "anthropic": "anthropic:claude-sonnet-4-5",
}


def responses_answer(body: Body) -> Body:
    """Says back what was said last, of 100 tokens in and 10 out."""
    return {
        "id": "resp_1",
        "status": "completed",
        "model": body["model"],
        "output": [message(_said(body, body["input"]))],
        "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
    }


def messages_answer(body: Body) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": _said(body, body["messages"])}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def chat_answer(body: Body) -> Body:
    return {
        "id": "chatcmpl-1",
        "model": body["model"],
        "choices": [_choice({"content": _said(body, body["messages"])}, "stop")],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


ANSWERS = {"openai": responses_answer, "openai-chat": chat_answer, "anthropic": messages_answer}


def _choice(said: Body, reason: str) -> Body:
    return {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **said}}


def message(text: str) -> Body:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _said(body: Body, told: list[Any]) -> str:
    heard = f"heard {_last(told)}"
    in_json = "You act by writing one JSON object" in str(body)
    return json.dumps({"action": {"kind": "answer", "answer": heard}}) if in_json else heard


def _last(said: list[Any]) -> str:
    content = said[-1].get("content") or "results"
    return content if isinstance(content, str) else content[-1].get("text", "results")


@dataclass
class StandIn:
    """One of both, and how a worker or a provider is brought to ask it."""

    api: str
    model: str
    books: Books
    port: int
    server: AnthropicStandIn | OpenAIStandIn

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a worker that asks this server."""
        address = f"http://127.0.0.1:{self.port}"
        own = (
            {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none-needed"}
            if self.api != "anthropic"
            else {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none-needed"}
        )
        return {**own, "NO_PROXY": "127.0.0.1"}

    def provider(self) -> BatchProvider:
        address = f"http://127.0.0.1:{self.port}"
        if self.api == "anthropic":
            return AnthropicMessages(AsyncAnthropic(api_key="none-needed", base_url=address, max_retries=0))
        client = AsyncOpenAI(api_key="none-needed", base_url=f"{address}/v1", max_retries=0)
        return OpenAIResponses(client) if self.api == "openai" else OpenAIChat(client)

    async def release(self) -> None:
        """Let the batches of OpenAI's end that were held, and tell the webhook."""
        assert isinstance(self.server, OpenAIStandIn)
        await self.server.release()

    def calling(self) -> Body:
        """An answer that calls the tool `look`."""
        if self.api == "openai":
            call: Body = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}
            return {**responses_answer({"model": "gpt-4o", "input": [{}]}), "output": [call]}
        if self.api == "anthropic":
            use: Body = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
            answer = messages_answer({"model": "claude-sonnet-4-5", "messages": [{}]})
            return {**answer, "content": [use], "stop_reason": "tool_use"}
        call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        answer = chat_answer({"model": "gpt-4o", "messages": [{}]})
        return {**answer, "choices": [_choice({"content": None, "tool_calls": [call]}, "tool_calls")]}


@asynccontextmanager
async def stand_in(
    api: str, answer: Answer | None = None, *, webhook: Webhook | None = None, name: str = "batch"
) -> AsyncIterator[StandIn]:
    """`name` is what the ids of its batches begin with; OpenAI's tells a `webhook` of their ends."""
    books = Books(answer or ANSWERS[api], name=name)
    server = AnthropicStandIn(books) if api == "anthropic" else OpenAIStandIn(books, webhook)
    async with serving(server.app) as port:
        yield StandIn(api, MODELS[api], books, port, server)
