"""Signing in with a token, and out again. Who is signed in, and until when, is `surefoot/http/access.py`'s matter."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from surefoot.console.pages import PageRoute, Viewer, access_of, page, typed
from surefoot.http.problems import Refusal

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/login")
async def login(request: Request, next: str = "/inbox") -> Response:
    if access_of(request).is_open:
        return RedirectResponse("/inbox", 303)
    return page(request, "login.html", "Sign in", person=None, next=_ours(next), problem="")


@router.post("/login")
async def sign_in(request: Request) -> Response:
    form = await typed(request)
    target = _ours(form.get("next", ""))
    answer = RedirectResponse(target, 303)
    try:
        await access_of(request).sign_in(request, form.get("token", "").strip(), answer)
    except Refusal as refusal:
        said = {"next": target, "problem": refusal.problem.detail}
        return page(request, "login.html", "Sign in", person=None, status=refusal.problem.status, **said)
    return answer


@router.post("/logout")
async def sign_out(request: Request, _: Viewer) -> Response:
    answer = RedirectResponse("/login", 303)
    access_of(request).sign_out(request, answer)
    return answer


def _ours(target: str) -> str:
    """Where to go on after signing in: a page of ours, whatever a link said."""
    plain = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if plain else "/inbox"
