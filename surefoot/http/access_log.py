"""One line for each request: who, what, how it went, how long. Never a query, a body or a path: they hold secrets.

What was asked for is named by its route, and by the job or batch if it has one.
"""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)


class AccessLog:
    """Middleware: the outermost, so that it sees what the others refuse."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not log.isEnabledFor(logging.INFO):
            return await self.app(scope, receive, send)
        began, status = time.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            log.info("%s %d %.0f ms", _what(scope), status, (time.monotonic() - began) * 1000)


def _what(scope: Scope) -> str:
    route, person = scope.get("route"), scope.get("state", {}).get("person")
    client = scope.get("client")
    names = scope.get("path_params", {})
    job = names.get("job") or names.get("batch")
    return (
        f"{client[0] if client else '-'} {person.name if person else '-'}"
        f" {scope['method']} {getattr(route, 'name', '-')}{f' {job!r}' if job else ''}"
    )
