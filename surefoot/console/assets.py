"""The console's own scripts and styles: served to everybody, since they say nothing about jobs.

Only the files that the package brings can be asked for: a name is looked up and never joined to a path. An address with
a version names its content, so a browser may keep it; without one (a script that imports another) it asks again.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from surefoot.http.problems import Refusal

router = APIRouter(include_in_schema=False)

KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
KEEP = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """One file as it is served."""

    content: bytes
    kind: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """All of them, by name."""
    found: dict[str, Asset] = {}
    for file in files("surefoot.console").joinpath("static").iterdir():
        suffix = file.name.rpartition(".")[2]
        if suffix in KINDS:
            content = file.read_bytes()
            found[file.name] = Asset(content, KINDS[suffix], hashlib.sha256(content).hexdigest()[:12])
    return found


def address(name: str) -> str:
    """Where the file `name` is served."""
    return f"/static/{name}?v={assets()[name].version}"


@router.get("/favicon.ico")
async def icon(request: Request) -> Response:
    """Where browsers look for pages that name none, such as the API's own."""
    return await asset(request, "mark.svg")


@router.get("/static/{name}")
async def asset(request: Request, name: str, v: str = "") -> Response:
    file = assets().get(name)
    if file is None:
        raise Refusal(404, "no-such-file", f"there is no file {name!r}")
    tag = f'"{file.version}"'
    headers = {"Cache-Control": KEEP if v == file.version else "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
