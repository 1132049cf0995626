"""Pages that show what waits: the inbox, one call by itself, and what became of one."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import QueryParams

from surefoot.client import Client
from surefoot.console import cards as shown
from surefoot.console import values
from surefoot.console.became import became
from surefoot.console.pages import PageRoute, Viewer, client_of, fresh, page, wants_part
from surefoot.console.reads import Read, read_before
from surefoot.console.rendering import with_query
from surefoot.errors import SurefootError
from surefoot.http.people import Person
from surefoot.inbox import InboxItem, InboxPage
from surefoot.job import Job

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FILTERS = ("tool", "agent", "tenant", "risk")
JOBS = 25
SEARCHED = 1000
"""So many jobs are looked through for a filter that the server does not know, before the page says that it ends."""


@router.get("/")
@router.get("/inbox")
async def inbox(request: Request, person: Viewer) -> Response:
    query = request.query_params
    found = await _found(client_of(request), query)
    cards = shown.cards(found.items, person)
    context: dict[str, Any] = {
        "cards": cards,
        "first": _address(query) if query.get("after") else "",
        "following": _address(query, after=found.after) if found.after else "",
        "person": person,
    }
    version = shown.version(cards)
    if wants_part(request):
        return fresh(request, version, "cards.html", **context)
    done = await became(client_of(request).job(query["in"]), query["done"]) if {"in", "done"} <= query.keys() else None
    return page(
        request,
        "inbox.html",
        f"{len(found.items)}{'+' * bool(found.after)} · Inbox" if found.items else "Inbox",
        here="inbox",
        live=_address(query, after=query.get("after")),
        version=version,
        filters=[(name, query.get(name, ""), _options(found.items, name)) for name in FILTERS],
        done=done,
        **context,
    )


async def _found(client: Client, query: QueryParams) -> InboxPage:
    """A page of what waits. The server knows agents and tenants; tools and risks are looked for in what it gives."""
    wanted = {name: query[name] for name in ("tool", "risk") if query.get(name)}
    jobs = JOBS if not wanted else SEARCHED // 5
    after, items = query.get("after") or None, list[InboxItem]()
    for _ in range(SEARCHED // jobs):
        part = await client.inbox_page(
            jobs=jobs, after=after, agent=query.get("agent") or None, tenant=query.get("tenant") or None
        )
        items += [item for item in part.items if all(getattr(item, name) == wanted[name] for name in wanted)]
        after = part.after
        if not wanted or len(items) >= JOBS or after is None:
            break
    return InboxPage(items=items, after=after)


def _options(items: Sequence[InboxItem], name: str) -> list[str]:
    """What a filter can be set to, as far as it is to be seen."""
    return sorted({str(value) for item in items if (value := getattr(item, name))})


def _address(query: QueryParams, after: str | None = None) -> str:
    """This inbox with the same filters, from another place on."""
    return with_query("/inbox", {**{name: query.get(name) for name in FILTERS}, "after": after})


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
        found = Read(f"What was read before can't be shown: {error.seen}", [])
    return fresh(request, "", "read.html", read=found)


@router.get("/inbox/became")
async def became_part(request: Request, job: str, call: str, _: Viewer) -> Response:
    return fresh(request, "", "became.html", done=await became(client_of(request).job(job), call))


@router.get("/inbox/whole")
async def whole(request: Request, job: str, call: str, _: Viewer) -> Response:
    """All arguments of a call, as text: what a card had to cut."""
    item = await item_of(client_of(request).job(job), call)
    return PlainTextResponse(values.as_json(item.arguments))
