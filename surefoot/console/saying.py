"""The turn in the making, on a job's page: what came since a browser asked last, or all that is known of it.

A browser says how far it has heard (call, attempt, end), so that nothing is kept here for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from surefoot.console.pages import PageRoute, Viewer, client_of, number_in
from surefoot.console.rendering import render
from surefoot.saying import Heard, Look, Said

router = APIRouter(route_class=PageRoute, include_in_schema=False)

SPEAKS = "X-Speaks"


@dataclass(frozen=True)
class Making:
    """A model call that is under way: what it said behind `start`, which may have a gap before it."""

    look: Look
    said: Sequence[Said]
    start: int

    @property
    def end(self) -> int:
        return self.said[-1].end if self.said else self.start

    @property
    def has_gap(self) -> bool:
        return bool(self.said) and self.said[0].offset > self.start


def making(look: Look | None, call: str = "", attempt: int = 0, end: int = 0) -> Making | None:
    """What a browser is shown that has heard so much of this attempt; none while no model is asked."""
    if look is None:
        return None
    if (look.call, look.attempt) != (call, attempt):
        end = 0
    heard = Heard(look.call, look.attempt, end)
    return Making(look, [each for each in heard.news(look) if isinstance(each, Said)], end)


def told_of(look: Look | None, response: Response) -> Response:
    """An update of the page that also tells whether a model is asked: then the page asks for what it says."""
    if look is not None:
        response.headers[SPEAKS] = "1"
    return response


@router.get("/saying")
async def saying(
    request: Request, person: Viewer, job: str, call: str = "", attempt: str = "", end: str = ""
) -> Response:
    """A part for the page of a job; nothing once the call is over."""
    glance = await client_of(request).job(job).glance()
    found = making(glance.look, call, number_in(attempt) or 0, number_in(end) or 0)
    return Response(status_code=204) if found is None else HTMLResponse(render("saying.html", making=found))
