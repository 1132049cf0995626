"""Pages about batches: the list, one batch, and the form for a file. What people tell one is in `batch_words.py`."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from surefoot.batches import BatchView
from surefoot.console import words
from surefoot.console.pages import (
    PageRoute,
    Submitter,
    Viewer,
    client_of,
    fresh,
    here_of,
    page,
    print_of,
    wants_part,
)
from surefoot.console.rendering import with_query
from surefoot.http.jobs import offered_of
from surefoot.http.paths import BATCH
from surefoot.http.people import Person
from surefoot.http.problems import Fault

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PER_PAGE = 50
WIDTH = 1000.0
KINDS: Mapping[str, Mapping[str, str]] = {
    "done": {"end": "done"},
    "incomplete": {"end": "incomplete"},
    "failed": {"end": "failed"},
    "forgotten": {},
    "waiting": {"state": "waiting"},
    "batched": {"state": "batched"},
    "running": {"state": "running"},
    "queued": {},
}
"""What a line can be, in the order of the bar, and which jobs these are."""


@dataclass(frozen=True)
class Part:
    """One piece of a batch's bar. `jobs` is the list of these jobs, empty if there are none to be listed."""

    kind: str
    count: int
    x: float
    width: float
    jobs: str


@router.get("/batches")
async def batches(request: Request, person: Viewer) -> Response:
    cursor = request.query_params.get("cursor") or None
    views, after = await client_of(request).batches.page(limit=PER_PAGE, after=cursor)
    context: dict[str, Any] = {
        "rows": [(view, parts_of(view)) for view in views],
        "after": with_query("/batches", {"cursor": after}) if after else "",
    }
    version = print_of(*(view.model_dump_json() for view in views))
    if wants_part(request):
        return fresh(request, version, "batch_rows.html", **context)
    return page(
        request, "batches.html", "Batches", person=person, here="batches", live=here_of(request), version=version,
        first="/batches" if cursor else "", **context,
    )  # fmt: skip


@router.get(f"/batches/{BATCH}")
async def batch(request: Request, batch: str, person: Viewer) -> Response:
    """One batch: how its lines stand, what holds it up, what it spent, and what can be done about it."""
    name = request.query_params.get("id", batch) if batch == "-" else batch
    view = await client_of(request).batches[name].view()
    version = print_of(view.model_dump_json(), *person.permissions)
    context: dict[str, Any] = {"view": view, "parts_of_bar": parts_of(view), "spent": _spent(view)}
    if wants_part(request):
        return fresh(request, version, "batch_parts.html", person=person, **context)
    return page(
        request, "batch.html", name, person=person, here="batches", live=here_of(request), version=version, **context
    )


def parts_of(view: BatchView) -> list[Part]:
    """The batch's bar: so wide is the share of each kind of line."""
    found: list[Part] = []
    x = 0.0
    for kind, which in KINDS.items():
        count = getattr(view, kind)
        width = round(WIDTH * count / max(1, view.lines), 2)
        jobs = with_query("/jobs", {"batch": view.batch, **which}) if which and count else ""
        found.append(Part(kind, count, round(x, 2), width, jobs))
        x += width
    return found


def _spent(view: BatchView) -> Sequence[tuple[str, float, float, str]]:
    """Bars for what is bounded by the budget: name, used, most, in words."""
    budget, spent = view.budget, view.spent
    found: list[tuple[str, float, float, str]] = []
    if budget.cost_usd is not None:
        said = f"{words.money(spent.cost_usd)} of {words.money(budget.cost_usd)}"
        found.append(("cost", spent.cost_usd, budget.cost_usd, said))
    if budget.tokens is not None:
        said = f"{words.amount(spent.tokens)} of {words.amount(budget.tokens)}"
        found.append(("tokens", spent.tokens, budget.tokens, said))
    return found


@router.get("/new-batch")
async def new_batch(request: Request, person: Submitter) -> Response:
    return await new_batch_page(request, person, {"concurrency": "20"}, uuid.uuid4().hex)


async def new_batch_page(
    request: Request,
    person: Person,
    given: Mapping[str, str],
    key: str,
    *,
    problem: str = "",
    faults: Sequence[Fault] = (),
    status: int = 200,
) -> Response:
    """The form for a new batch; with what is wrong with the file that was sent."""
    offered = offered_of(request)
    agents = await offered.names() if offered is not None else []
    queues = await offered.queues() if offered is not None else None
    shown = {name: given.get(name, "") for name in ("agent", "template", "concurrency", "queue", "skip_bad")}
    return page(
        request, "new_batch.html", "New batch", person=person, here="batches", status=status, given=shown, key=key,
        agents=agents, queues=queues, problem=problem, faults=faults,
    )  # fmt: skip
