"""Drives the OpenAI adapters with recorded streams: over a real HTTP server, or event by event."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Literal

import httpx2
from openai import AsyncOpenAI

from activities.providers.sse import Event, events
from tests.streaming import Stream, StreamServer, cut
from tests.traffic import Exchange
from workflows.contracts import JsonObject


class Watcher:
    """Somebody who watches: what was said to it, pieces of one kind that follow each other joined."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def say(self, kind: Literal["text", "reasoning", "call"], text: str) -> None:
        if self.said and self.said[-1][0] == kind != "call":
            text = self.said.pop()[1] + text
        self.said.append((kind, text))


class _Rerouted(httpx2.AsyncBaseTransport):
    """Brings requests for any host to a server in this process, so that the vendor is known by its host's name."""

    def __init__(self, url: str) -> None:
        self._url, self._inner = httpx2.URL(url), httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(scheme="http", host=self._url.host, port=self._url.port)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def sdk_at(server: StreamServer, base_url: str = "https://api.openai.com/v1") -> AsyncOpenAI:
    http = httpx2.AsyncClient(transport=_Rerouted(server.url))
    return AsyncOpenAI(api_key="test-key", base_url=base_url, max_retries=0, http_client=http)


def streams(recorded: Sequence[Exchange], *sizes: int) -> list[Stream]:
    """The recorded answers as a server sends them, in chunks of these sizes."""
    return [Stream(cut(exchange.response_body, *sizes)) for exchange in recorded]


def in_events(text: str) -> list[str]:
    """A recorded stream cut behind each of its events."""
    return [f"{event}\n\n" for event in text.replace("\r\n", "\n").split("\n\n") if "data:" in event]


def sent_as(*bodies: JsonObject | str) -> AsyncIterator[Event]:
    """The events of a stream with this data."""
    data = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    return read_from([f"data: {each}\n\n".encode() for each in data])


async def read_from(chunks: Sequence[bytes]) -> AsyncIterator[Event]:
    """The events of an answer that comes in these chunks."""

    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    request = httpx2.Request("POST", "http://host.invalid")
    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content(), request=request)
    async with events(response, 60.0) as stream:
        async for event in stream:
            yield event
