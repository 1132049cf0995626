"""Pages that show what waits: the inbox, one call by itself, and what became of one."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import QueryParams

from surefoot.console import cards as shown
from surefoot.console import values
from surefoot.console.became import became
from surefoot.console.pages import PageRoute, Viewer, client_of, fresh, page, wants_part
from surefoot.console.reads import Read, read_before
from surefoot.console.rendering import with_query
from surefoot.errors import SurefootError
from surefoot.http.people import Person
from surefoot.job import Job
from surefoot.lists import InboxItem

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FILTERS = ("tool", "agent", "tenant", "risk")
KEPT = (*FILTERS, "page")


@router.get("/")
@router.get("/inbox")
async def inbox(request: Request, person: Viewer) -> Response:
    items = await client_of(request).inbox()
    query = request.query_params
    found = shown.cards([item for item in items if _wanted(item, query)], person)
    number = max(1, int(query.get("page", "1"))) if query.get("page", "1").isdecimal() else 1
    part = found[(number - 1) * shown.PER_PAGE : number * shown.PER_PAGE]
    context: dict[str, Any] = {"cards": part, "pages": _pages(query, number, len(found)), "person": person}
    version = shown.version(part)
    if wants_part(request):
        return fresh(request, version, "cards.html", **context)
    done = await became(client_of(request).job(query["in"]), query["done"]) if {"in", "done"} <= query.keys() else None
    del context["person"]
    return page(
        request,
        "inbox.html",
        f"{len(found)} · Inbox" if found else "Inbox",
        person=person,
        here="inbox",
        live=_address(query),
        version=version,
        filters=[(name, query.get(name, ""), _options(items, name, query.get(name, ""))) for name in FILTERS],
        done=done,
        problem="",
        **context,
    )


def _wanted(item: InboxItem, query: QueryParams) -> bool:
    return all(not query.get(name) or getattr(item, name) == query[name] for name in FILTERS)


def _options(items: Sequence[InboxItem], name: str, chosen: str) -> list[str]:
    """What a filter can be set to, and what it is set to even if nothing is like that any more."""
    return sorted({str(value) for item in items if (value := getattr(item, name))} | ({chosen} if chosen else set()))


def _pages(query: QueryParams, number: int, count: int) -> dict[str, str]:
    after = _address(query, page=number + 1) if number * shown.PER_PAGE < count else ""
    return {"before": _address(query, page=number - 1) if number > 1 else "", "after": after}


def _address(query: QueryParams, **changed: object) -> str:
    """This inbox with the same filters."""
    return with_query("/inbox", {**{name: query.get(name, "") for name in KEPT}, **changed})


async def item_of(job: Job, call: str) -> InboxItem:
    """One call that waits, whole. Raises `DecisionRefused` if it does not wait."""
    return InboxItem(job=job.id, **dict(await job.pending(call)))


@router.get("/inbox/card")
async def card(request: Request, job: str, call: str, person: Viewer) -> Response:
    handle = client_of(request).job(job)
    return await call_page(request, await item_of(handle, call), person)


async def call_page(
    request: Request, item: InboxItem, person: Person, *, problem: str = "", status: int = 200
) -> Response:
    """One call by itself, with what was read before it and perhaps why a decision had no effect."""
    read = await read_before(client_of(request).job(item.job), item.call)
    context = {"cards": shown.cards([item], person), "problem": problem, "read": read}
    return page(request, "call.html", item.tool, person=person, here="inbox", status=status, **context)


@router.get("/inbox/read")
async def read(request: Request, job: str, call: str, _: Viewer) -> Response:
    try:
        found = await read_before(client_of(request).job(job), call)
    except SurefootError as error:
        found = Read(f"What was read before can't be shown: {error}", [])
    return fresh(request, "", "read.html", read=found)


@router.get("/inbox/became")
async def became_part(request: Request, job: str, call: str, _: Viewer) -> Response:
    return fresh(request, "", "became.html", done=await became(client_of(request).job(job), call))


@router.get("/inbox/whole")
async def whole(request: Request, job: str, call: str, _: Viewer) -> Response:
    """All arguments of a call, as text: what a card had to cut."""
    item = await item_of(client_of(request).job(job), call)
    return PlainTextResponse(values.as_json(item.arguments))
