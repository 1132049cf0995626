"""What stands around every answer: headers that browsers keep to, limits on what is sent in, no fault that gets out.

Pure ASGI, since it must hold for answers that no route made, too.
"""

import asyncio
import logging

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surefoot.http.problems import Refusal, answer, problem_of

log = logging.getLogger(__name__)

BODY_BYTES = 2_000_000
BODY_SECONDS = 20.0

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers would then say "Origin: null" of our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Where an answer does not say something else itself."""


class Shield:
    """Middleware: the outermost."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = False

        async def shielded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, shielded)
        except Exception as error:
            if begun:
                raise
            await answer(problem_of(error))(scope, receive, shielded)


class Bodies:
    """Middleware: a body is read whole before any route is asked, and only so much and for so long."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            body = await self._read(scope, receive)
        except Refusal as refusal:
            await answer(refusal.problem, refusal.headers)(scope, receive, send)
            return None
        if body is None:
            return None
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return await self.app(scope, again, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None if the client went away."""
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > BODY_BYTES:
            raise self._too_large(f"{int(told)} bytes")
        parts = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts += message.get("body", b"")
                    if len(parts) > BODY_BYTES:
                        raise self._too_large(f"more than {BODY_BYTES} bytes")
                    if not message.get("more_body", False):
                        return bytes(parts)
        except TimeoutError:
            text = f"the body had not come within {BODY_SECONDS:g} seconds"
            raise Refusal(408, "too-slow", text, {"Connection": "close"}) from None

    def _too_large(self, seen: str) -> Refusal:
        text = f"the body has {seen}, at most {BODY_BYTES} are taken: put the rest where a tool can read it"
        return Refusal(413, "too-large", text, {"Connection": "close"})
