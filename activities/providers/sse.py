"""Reads an HTTP answer as server-sent events while it comes in, for the adapters of every API.

Events are parsed by httpx2; here is what an agent needs beside that: limits on silence and size, the errors of
`errors.py`, and a connection that is closed however the reading ends. Silence is looked for in the bytes, since a ping
may be a comment. Whether an answer is a stream its first bytes tell: servers give either under the other's type.
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

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""A turn may take 1.4 MB; streamed a few letters at a time it takes fifty times as much, and no more than that."""

REST_SECONDS: Final = 1.0
"""How long the end of a stream is waited for behind its last event: a connection read to its end is used again."""


FIELDS: Final = (b"data", b"event", b"id", b"retry", b":")
"""What a stream of events begins with."""

LONGEST_FIELD: Final = max(map(len, FIELDS))
BLANK: Final = b" \t\r\n\xef\xbb\xbf"


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
    """Does this answer call itself a stream? A server without streaming sends its whole answer, and a proxy a page."""
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
    body = Body(response, idle_seconds)
    try:
        if await body.is_whole():
            return read_body(b"".join([chunk async for chunk in body]).decode("utf-8-sig", "replace"))
        async with events(response, idle_seconds, body) as stream:
            return await assemble(stream)
    except Exception as error:
        raise classify(error) from None
    finally:
        await response.aclose()


@asynccontextmanager
async def events(
    response: "httpx2.Response", idle_seconds: float, body: "Body | None" = None
) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of an answer that was not read yet: `async with events(…) as stream: async for event in stream`.
    `body` is what was looked at of it before.

    Leave the loop at the last event of the answer. Reading raises `TimedOut` when no byte came for `idle_seconds`, and
    another `ModelError` when the connection is lost. A stream that simply ends is for the caller to judge.
    """
    stream = _events(response, body or Body(response, idle_seconds))
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


async def _events(response: "httpx2.Response", body: "Body") -> AsyncGenerator[Event]:
    import httpx2

    # The parser insists on this type, which some servers forget; the encoding removes a byte order mark.
    watched = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=body,
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


class Body:
    """The bytes of an answer, of which the first can be looked at before they are read."""

    def __init__(self, response: "httpx2.Response", idle_seconds: float) -> None:
        # What calls itself no stream may be made as a whole, and take as long as it did without streaming.
        self._streamed = is_stream(response)
        self._patience = idle_seconds if self._streamed else None
        self._chunks, self._looked_at, self._size = response.aiter_bytes(), b"", 0

    async def is_whole(self) -> bool:
        """Is this JSON or a page, and no stream of events?"""
        while len(start := self._looked_at.lstrip(BLANK)) < LONGEST_FIELD:
            if (chunk := await self._next()) is None:
                break
            self._looked_at += chunk
        if start.startswith(FIELDS):
            return False
        return start[:1] in (b"{", b"[", b"<") or not self._streamed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._looked_at:
            yield self._looked_at
        while (chunk := await self._next()) is not None:
            yield chunk

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(self._patience):
                chunk = await anext(self._chunks, None)
        except TimeoutError:
            raise TimedOut(
                f"the stream was silent for {self._patience:g} seconds before its end; ask again, "
                "or allow a longer silence if the model is known to think that long"
            ) from None
        self._size += len(chunk or b"")
        if self._size > MAX_ANSWER_BYTES:
            raise MalformedAnswer(
                f"the answer has more than {MAX_ANSWER_BYTES:,} bytes, which no turn takes; it was not read to its end"
            )
        return chunk
