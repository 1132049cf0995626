"""Which web page a request was sent from, as the browser says, and which names this server answers to.

A browser sends requests of any page to any address, with cookies and from within the user's own machine, but tells the
truth about where they come from. What is no browser tells nothing, and needs no guarding against others' pages.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from surefoot.http.problems import Refusal, answer

SAFE = ("GET", "HEAD", "OPTIONS")
HEALTH = "/healthz"
OPENAI_HOOK = "/hooks/openai"
ANY_NAME = (HEALTH, OPENAI_HOOK)
"""What may be called by any name: it tells nothing, or is signed, which no page of a browser can do."""

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Hosts:
    """Middleware: refuses names that are not this server's, so that no foreign name can be pointed at it.

    A page from evil.example whose name is made to mean 127.0.0.1 is of the same origin as this server, to its browser.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self.app, self.names = app, frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ANY_NAME or self._is_ours(Headers(scope=scope).get("host", "")):
            return await self.app(scope, receive, send)
        refusal = Refusal(
            421,
            "unknown-host",
            "the Host header names another server than this one; reach it as one of"
            f" {', '.join(sorted(self.names))}; SUREFOOT_CONSOLE_URL names another, where tokens are asked for",
        )
        await answer(refusal.problem)(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        return _name(host) in self.names


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    host = host.strip().lower()
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def foreign(request: Request, public_url: str | None = None) -> str | None:
    """Why a request can't be one of our own pages' or of a program, or None if it can."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is not None and origin.lower() not in _origins(request, public_url):
        return f"it was sent by a page from {origin[:200]!r}"
    if site in (None, "same-origin", "none"):
        return None
    # A link from elsewhere may lead here: what a navigation gets is shown, and never read by the page it came from.
    led_here = request.method in SAFE and request.headers.get("sec-fetch-dest") == "document"
    return None if led_here else f"the browser says that it was sent by another site's page ({site[:50]})"


def _origins(request: Request, public_url: str | None) -> set[str]:
    """How our own pages are called. A proxy may have ended the TLS, so both schemes are."""
    host = request.headers.get("host", "").lower()
    own = {f"http://{host}", f"https://{host}"}
    if public_url:
        parts = urlsplit(public_url)
        own.add(f"{parts.scheme}://{parts.netloc}".lower())
    return own
