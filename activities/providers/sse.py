"""Reads an HTTP answer as server-sent events while it comes in, for the adapters of every API.

Events are parsed by httpx2; here is what an agent needs beside that: a limit on silence, the errors of `errors.py`, and
a connection that is closed however the reading ends. Silence is looked for in the bytes, since a ping may be a comment.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from activities.providers.classify import classify
from activities.providers.error_body import read_body, redact
from activities.providers.errors import MalformedAnswer, ModelError, Overloaded, TimedOut
from workflows.contracts import JsonObject

if TYPE_CHECKING:
    import httpx2

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Far above what a turn may take in history; some APIs send the whole answer again in their last event."""

REST_SECONDS: Final = 1.0
"""How long the end of a stream is waited for behind its last event: a connection read to its end is used again."""


@dataclass(frozen=True)
class Event:
    """One event that has data; `name` is "message" where the server gave none."""

    name: str
    data: str

    @property
    def body(self) -> JsonValue:
        """The data as JSON, or as the text that it is."""
        return read_body(self.data)

    @property
    def fields(self) -> JsonObject:
        """The data as a JSON object. Raises `MalformedAnswer`."""
        body = self.body
        if not isinstance(body, dict):
            raise MalformedAnswer(f"an event of the stream holds no JSON object but: {redact(self.data[:200])!r}")
        return body


def is_stream(response: "httpx2.Response") -> bool:
    """Is this answer a stream? A server that does not know streaming sends its whole answer, and a proxy a page."""
    content_type = response.headers.get("content-type", "").lower()
    return not any(kind in content_type for kind in ("json", "html"))


def ended_early(model: str, missing: str) -> ModelError:
    """The error for a stream that ended without what ends an answer: whoever served it broke off."""
    return Overloaded(f"the stream of {model} ended before {missing}: the answer is cut off, so nothing of it counts")


async def answer_of(
    response: "httpx2.Response", assemble: Callable[[AsyncIterator[Event]], Awaitable[JsonObject]], idle_seconds: float
) -> JsonValue:
    """What `assemble` makes of the events of an answer that was not read yet; its JSON or text if it is no stream.

    Raises what `events` and `assemble` raise.
    """
    if is_stream(response):
        async with events(response, idle_seconds) as stream:
            return await assemble(stream)
    try:
        await response.aread()
    except Exception as error:
        raise classify(error) from None
    finally:
        await response.aclose()
    return read_body(response.text)


@asynccontextmanager
async def events(response: "httpx2.Response", idle_seconds: float) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of an answer that was not read yet: `async with events(…) as stream: async for event in stream`.

    Leave the loop at the last event of the answer. Reading raises `TimedOut` when no byte came for `idle_seconds`, and
    another `ModelError` when the connection is lost. A stream that simply ends is for the caller to judge.
    """
    stream = _events(response, idle_seconds)
    try:
        yield stream
        with suppress(Exception):
            async with asyncio.timeout(REST_SECONDS):
                async for _ in stream:
                    pass
    finally:
        try:
            await stream.aclose()
        finally:
            await response.aclose()


async def _events(response: "httpx2.Response", idle_seconds: float) -> AsyncGenerator[Event]:
    import httpx2

    # The parser insists on this type, which some servers forget; the encoding removes a byte order mark.
    watched = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=_bytes(response, idle_seconds),
        request=response.request,
    )
    watched.encoding = "utf-8-sig"
    try:
        async for event in httpx2.EventSource(watched, MAX_EVENT_BYTES):
            if event.data:
                yield Event(event.event, event.data)
    except httpx2.SSEError as error:
        raise MalformedAnswer(f"the stream can't be read: {error}") from None
    except Exception as error:
        raise classify(error) from None


async def _bytes(response: "httpx2.Response", idle_seconds: float) -> AsyncIterator[bytes]:
    chunks = response.aiter_bytes()
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise TimedOut(
                f"the stream was silent for {idle_seconds:g} seconds before its end; ask again, "
                "or allow a longer silence if the model is known to think that long"
            ) from None
        if chunk is None:
            return
        yield chunk
