"""Pages about jobs: the list, one job, and the form for a new one. What people tell a job is in `telling.py`."""

import uuid
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.datastructures import QueryParams

from surefoot.console.overview import bars
from surefoot.console.pages import (
    PageRoute,
    Submitter,
    Viewer,
    client_of,
    fresh,
    has,
    here_of,
    number_in,
    page,
    print_of,
    wants_part,
)
from surefoot.console.picture import picture
from surefoot.console.rendering import job_url, with_query
from surefoot.console.saying import making, told_of
from surefoot.console.timeline import rounds, timeline
from surefoot.console.windows import ENTRIES, Window, newest, window
from surefoot.errors import NoWorker
from surefoot.folding import folded
from surefoot.http.jobs import offered_of
from surefoot.http.paths import JOB
from surefoot.http.people import Person
from surefoot.job_pages import list_page
from surefoot.lists import JobFilter
from workflows.batches.contracts import LineClass
from workflows.contracts import Audit, JobView

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FILTERS = ("state", "status", "agent", "tenant", "tag", "batch", "queue", "end")
PER_PAGE = 50
SECTIONS = ("rounds", "transcript", "audit")


@router.get("/jobs")
async def jobs(request: Request, person: Viewer) -> Response:
    query = request.query_params
    chosen: dict[str, Any] = {name: query.get(name) or None for name in FILTERS}
    if chosen["end"] not in get_args(LineClass):
        chosen["end"] = None
    wanted = JobFilter(**chosen)
    rows, after = await list_page(
        client_of(request).temporal, wanted, limit=PER_PAGE, cursor=query.get("cursor") or None
    )
    context: dict[str, Any] = {
        "rows": rows,
        "after": _jobs_address(query, cursor=after) if after else "",
        "chosen": chosen,
    }
    version = print_of(*(row.model_dump_json() for row in rows))
    if wants_part(request):
        return fresh(request, version, "rows.html", **context)
    return page(
        request, "jobs.html", "Jobs", person=person, here="jobs", live=here_of(request), version=version,
        first=with_query("/jobs", chosen) if query.get("cursor") else "", **context,
    )  # fmt: skip


def _jobs_address(query: QueryParams, cursor: str) -> str:
    return with_query("/jobs", {**{name: query.get(name) for name in FILTERS}, "cursor": cursor})


@router.get(f"/jobs/{JOB}")
async def job(request: Request, job: str, person: Viewer) -> Response:
    """One job: its state, and one of its three sections. A long job is shown in parts, the newest one first."""
    query = request.query_params
    name = query.get("id", job) if job == "-" else job
    handle = client_of(request).job(name)
    section, start = _chosen(query)
    # Taken before the job is looked at: what happens meanwhile is shown by the next update.
    glance = await handle.glance()
    version = print_of(str(glance.mark), section, *person.permissions)
    if has(request, version):
        return told_of(glance.look, fresh(request, version, "job_parts.html"))
    context: dict[str, Any] = {"temporal": _temporal(request, name), "section": section}
    try:
        view = await handle.view()
        part = await newest(handle) if start is None else await window(handle, start)
    except NoWorker as error:
        row = await handle.row()
        # Another version than with a worker: one may come without anything happening to the job.
        version = print_of(version, row.model_dump_json(), error.seen)
        shown, context = "silent.html", {**context, "row": row, "problem": error.seen, "later": ""}
    else:
        once = uuid.uuid4().hex  # sent with a message: a second click says nothing twice
        shown, context = "job_parts.html", {**context, **_shown(view, part, section), "once": once}
    if wants_part(request):
        return told_of(glance.look, fresh(request, version, shown, person=person, **context))
    return page(
        request, "job.html", name, person=person, here="jobs", live=here_of(request), version=version, parts_of=shown,
        making=making(glance.look), **context,
    )  # fmt: skip


def _chosen(query: QueryParams) -> tuple[str, int | None]:
    """Which section, and from which entry on; None for the newest ones."""
    section = query.get("show", "")
    return section if section in SECTIONS else SECTIONS[0], number_in(query.get("from", ""))


def _shown(view: JobView, part: Window, section: str) -> dict[str, Any]:
    items = timeline(part.entries, {pending.call: pending.kind for pending in view.pending})
    numbered = list(enumerate(part.entries, part.start))
    return {
        "view": view,
        "section": section,
        "bars": bars(view),
        "items": items,
        "panels": picture(rounds(items)),
        "said": [(number, entry) for number, entry in numbered if not isinstance(entry, Audit)],
        "deeds": folded([entry for entry in part.entries if isinstance(entry, Audit)]),
        "part": part,
        "earlier": job_url(view.job, show=section, **{"from": max(0, part.start - ENTRIES)}) if part.start else "",
        "later": job_url(view.job, show=section, **{"from": part.end}) if part.end < part.total else "",
    }


def _temporal(request: Request, job: str) -> str:
    """Temporal's own page of this job, if there is one."""
    ui: str | None = request.app.state.temporal_ui
    namespace = client_of(request).temporal.namespace
    path = f"/namespaces/{quote(namespace, safe='')}/workflows/{quote(job, safe='')}"
    return f"{ui.rstrip('/')}{path}" if ui else ""


@router.get("/new")
async def new(request: Request, person: Submitter) -> Response:
    given = {name: request.query_params.get(name, "") for name in ("agent", "message", "tenant", "tags", "queue")}
    key = uuid.uuid4().hex  # sent with the form: a second click is no second job
    return await new_page(request, person, given, key)


async def new_page(
    request: Request, person: Person, given: Mapping[str, str], key: str, *, problem: str = "", status: int = 200
) -> Response:
    """The form for a new job: the agents as a list, where it is known which there are."""
    offered = offered_of(request)
    agents = await offered.names() if offered is not None else []
    queues = await offered.queues() if offered is not None else None
    return page(
        request, "new.html", "New job", person=person, here="new", status=status, problem=problem, given=given, key=key,
        agents=agents, queues=queues,
    )  # fmt: skip
