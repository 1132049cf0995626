"""Ids in paths: a job may be called anything, also with slashes in it, so `%2F` is part of an id and no separator.

Servers hand over the path decoded, where the two can't be told apart. Routes say `JOB`, `CALL`, `BATCH` …
"""

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

SLASH = "\x00"
"""Stands for a slash within a segment, while routes are matched. No id has it: the server takes none with it."""


class _Id(Convertor[str]):
    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(SLASH, "/")

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("id", _Id())
JOB, CALL, BATCH, SCHEDULE, QUEUE = "{job:id}", "{call:id}", "{batch:id}", "{schedule:id}", "{queue:id}"
LANE = "{lane:id}"
"""For the paths of routes."""


class Segments:
    """Middleware: decodes each segment of the path on its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw and b"%2f" in raw.lower():
            segments = raw.partition(b"?")[0].decode("latin-1").split("/")
            scope["path"] = "/".join(unquote(each).replace("/", SLASH) for each in segments)
        await self.app(scope, receive, send)
