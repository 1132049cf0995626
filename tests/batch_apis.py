"""The stand-ins of both batch APIs, running, with answers that any test can tell apart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.batches import BatchProvider
from activities.providers.openai_responses import OpenAIResponses
from stand_ins.anthropic_batches import AnthropicStandIn
from stand_ins.books import Answer, Body, Books
from stand_ins.openai_batches import OpenAIStandIn
from stand_ins.serving import serving

APIS = ("openai", "anthropic")


def responses_answer(body: Body) -> Body:
    """Says back what was said last, of 100 tokens in and 10 out."""
    return {
        "id": "resp_1",
        "status": "completed",
        "model": body["model"],
        "output": [message(f"heard {_last(body['input'])}")],
        "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
    }


def messages_answer(body: Body) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": f"heard {_last(body['messages'])}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def message(text: str) -> Body:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _last(said: list[Any]) -> str:
    content = said[-1].get("content", "results")
    return content if isinstance(content, str) else content[-1].get("text", "results")


@dataclass
class StandIn:
    """One of both, and how a worker or a provider is brought to ask it."""

    api: str
    model: str
    books: Books
    port: int

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a worker that asks this server."""
        address = f"http://127.0.0.1:{self.port}"
        own = (
            {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none-needed"}
            if self.api == "openai"
            else {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none-needed"}
        )
        return {**own, "NO_PROXY": "127.0.0.1"}

    def provider(self) -> BatchProvider:
        address = f"http://127.0.0.1:{self.port}"
        if self.api == "openai":
            return OpenAIResponses(AsyncOpenAI(api_key="none-needed", base_url=f"{address}/v1", max_retries=0))
        return AnthropicMessages(AsyncAnthropic(api_key="none-needed", base_url=address, max_retries=0))


@asynccontextmanager
async def stand_in(api: str, answer: Answer | None = None) -> AsyncIterator[StandIn]:
    books = Books(answer or (responses_answer if api == "openai" else messages_answer))
    app = OpenAIStandIn(books).app if api == "openai" else AnthropicStandIn(books).app
    model = "openai:gpt-4o" if api == "openai" else "anthropic:claude-sonnet-4-5"
    async with serving(app) as port:
        yield StandIn(api, model, books, port)
