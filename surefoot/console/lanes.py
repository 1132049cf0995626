"""The page of lanes: what waits for provider batches, what holds it up, and the forms that change that."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from surefoot.batches.lanes import hold_lane, list_lanes, resume_lane
from surefoot.console.pages import (
    PageRoute,
    Submitter,
    Viewer,
    client_of,
    fresh,
    here_of,
    page,
    print_of,
    reason_in,
    typed,
    wants_part,
)

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/lanes")
async def lanes(request: Request, person: Viewer) -> Response:
    client = client_of(request)
    views = await list_lanes(client.temporal, client.task_queue)
    version = print_of(*(view.model_dump_json() for view in views), *person.permissions)
    if wants_part(request):
        return fresh(request, version, "lane_rows.html", person=person, rows=views)
    return page(
        request, "lanes.html", "Lanes", person=person, here="batches", live=here_of(request), version=version,
        rows=views,
    )  # fmt: skip


@router.post("/lane-words/pause")
async def pause(request: Request, lane: str, person: Submitter) -> Response:
    reason = reason_in(await typed(request))
    await hold_lane(client_of(request).temporal, lane, by=person.name, reason=reason)
    return RedirectResponse("/lanes", 303)


@router.post("/lane-words/resume")
async def resume(request: Request, lane: str, person: Submitter) -> Response:
    await resume_lane(client_of(request).temporal, lane, by=person.name)
    return RedirectResponse("/lanes", 303)
