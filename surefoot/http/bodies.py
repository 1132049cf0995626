"""Bodies of requests: read whole before any route is asked, and only so much of one, for so long, and so much of all.

Whoever sends a body need not have said who he is yet, so what can be held at once is bounded for everybody together.
Files are the exception: their route knows who sends them before it reads them (`uploads.py`).
"""

import asyncio
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surefoot.http.problems import Refusal, answer

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
BODY_BYTES = 2_000_000
BODY_SECONDS = 20.0
ALL_BYTES = 100_000_000
"""Most bytes of all bodies that are being read or worked on."""


class Bodies:
    """Middleware. The bodies of `files` (method and path) are left to their routes, unless they are forms."""

    def __init__(self, app: ASGIApp, files: Collection[tuple[str, str]] = ()) -> None:
        self.app = app
        self._files = frozenset(files)
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body = bytearray()
        try:
            _check_lengths(scope)
            if (scope["method"], scope["path"]) in self._files:
                _must_be_a_file(scope)
                return await self.app(scope, receive, send)
            if await self._read(scope, receive, body):
                await self.app(scope, _replayed(bytes(body), receive), send)
        except _Unread as unread:
            await answer(unread.refusal.problem, unread.refusal.headers)(scope, receive, send)
        finally:
            self._held -= len(body)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> bool:
        """Read everything into `body`; False if the client went away. Raises `_Unread`."""
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > BODY_BYTES:
            raise _too_large(f"{int(told)} bytes")
        try:
            async with asyncio.timeout(BODY_SECONDS):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return False
                    self._hold(message.get("body", b""), body)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise _Unread(408, "too-slow", f"the body had not come within {BODY_SECONDS:g} seconds") from None
        return True

    def _hold(self, part: bytes, body: bytearray) -> None:
        body += part
        self._held += len(part)
        if len(body) > BODY_BYTES:
            raise _too_large(f"more than {BODY_BYTES} bytes")
        if self._held > ALL_BYTES:
            raise _Unread(503, "too-busy", "too much is being sent at once: try again in a moment")


class _Unread(Exception):
    """A body that is not read to its end, so the connection can't be used any more."""

    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.refusal = Refusal(status, slug, detail, {"Connection": "close"})


def _check_lengths(scope: Scope) -> None:
    headers = dict(scope["headers"])
    if b"content-length" in headers and b"transfer-encoding" in headers:
        # A proxy that believes the other one takes the end of this body for a request of its own.
        raise _Unread(400, "two-lengths", "the body has both a Content-Length and a Transfer-Encoding: send one")


def _must_be_a_file(scope: Scope) -> None:
    """A form would be looked into for the token of a session, so be read by whoever sends it, whatever its size."""
    told = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
    if told.partition(";")[0].strip().lower() in FORMS:
        text = f"this takes a file, and its Content-Type says that it is a form ({told[:100]}); say application/jsonl"
        raise _Unread(415, "no-file", text)


def _too_large(seen: str) -> _Unread:
    text = f"the body has {seen}, at most {BODY_BYTES} are taken: put the rest where a tool can read it"
    return _Unread(413, "too-large", text)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one message, and then whatever comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
