"""What every page of the console has in common: its frame, its parts for live updates, and how it says what went wrong.

A browser that wants a part alone says so with the header `X-Part`; everything else is a plain page or a plain form.
"""

import hashlib
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from temporalio.service import RPCError

from surefoot.client import Client
from surefoot.console.rendering import render
from surefoot.errors import SurefootError
from surefoot.http.access import Access, needs
from surefoot.http.people import Person
from surefoot.http.problems import Refusal, invalid_request, problem_of
from surefoot.http.requests import REASON_CHARS

Viewer = Annotated[Person, Depends(needs("view"))]
Submitter = Annotated[Person, Depends(needs("submit"))]
Approver = Annotated[Person, Depends(needs("approve"))]

PART = "X-Part"
VERSION = "X-Version"

Form = dict[str, str]


class PageRoute(APIRoute):
    """A route whose errors are pages: people read no problem documents."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except (Refusal, SurefootError, RPCError, RequestValidationError) as error:
                return await failure(request, error)

        return shown


def client_of(request: Request) -> Client:
    client: Client = request.app.state.client
    return client


def access_of(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


def wants_part(request: Request) -> bool:
    """Whether a script asks, for a piece of a page."""
    return PART in request.headers


def page(
    request: Request,
    template: str,
    title: str,
    *,
    person: Person | None,
    here: str = "",
    status: int = 200,
    **context: Any,
) -> HTMLResponse:
    """The page (or part) that `template` makes."""
    frame = {"title": title, "person": person, "here": here, "csrf": access_of(request).csrf(request)}
    return HTMLResponse(render(template, **frame, **context), status)


def has(request: Request, version: str) -> bool:
    """Whether a page that updates itself has this version already: then there is nothing to be read or made for it."""
    return wants_part(request) and request.headers.get(VERSION) == version


def fresh(request: Request, version: str, template: str, **context: Any) -> Response:
    """A part for a page that updates itself; nothing if it has this version already."""
    headers = {VERSION: version}
    if has(request, version):
        return Response(status_code=204, headers=headers)
    return HTMLResponse(render(template, csrf=access_of(request).csrf(request), **context), headers=headers)


def print_of(*parts: str) -> str:
    """A version of a page that shows these."""
    return hashlib.sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


async def typed(request: Request) -> Form:
    """The texts of a form; files are none."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


def filled_in(form: Form, *names: str) -> Form:
    """The fields of a form that were filled in."""
    return {name: form[name].strip() for name in names if form.get(name, "").strip()}


def reason_in(form: Form) -> str | None:
    """Why something is to be held, if the form says it."""
    return form.get("reason", "").strip()[:REASON_CHARS] or None


def number_in(text: str) -> int | None:
    """The number that this is, if it is one that anybody means."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def here_of(request: Request) -> str:
    """The address of this page, without the host."""
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


async def failure(request: Request, error: Exception) -> Response:
    """What went wrong, as a page with a way on."""
    problem = invalid_request(error.errors()) if isinstance(error, RequestValidationError) else problem_of(error)
    if problem.status == 401:
        return _signed_out(request)
    if wants_part(request):
        return HTMLResponse(render("alert.html", text=problem.detail), problem.status)
    person = None
    with suppress(Refusal):
        person = await access_of(request).person(request)
    said = {"text": problem.detail, "href": "/inbox", "name": "To the inbox"}
    return page(request, "message.html", problem.title, person=person, status=problem.status, **said)


def _signed_out(request: Request) -> Response:
    """To the sign-in page, and back; what was typed into a form must not be lost on the way."""
    if wants_part(request):
        text = "Your session has ended; nothing was sent. Sign in again in another tab, then try once more here."
        return HTMLResponse(render("alert.html", text=text), 401)
    if request.method == "GET":
        return RedirectResponse(f"/login?next={quote(here_of(request), safe='')}", 303)
    text = "Your session has ended, and nothing was sent. Sign in, then go back to what you typed."
    return page(
        request, "message.html", "Signed out", person=None, status=401, text=text, href="/login", name="Sign in"
    )
