"""Pages about named queues: all of them, one, and the forms by which people change it."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from surefoot.console.pages import (
    Form,
    PageRoute,
    Submitter,
    Viewer,
    client_of,
    filled_in,
    fresh,
    here_of,
    page,
    print_of,
    reason_in,
    typed,
    wants_part,
)
from surefoot.console.rendering import queue_url
from surefoot.http.paths import QUEUE
from surefoot.http.problems import Refusal, invalid_request
from surefoot.http.schedule_requests import SetQueue
from surefoot.queues import NamedQueue

Tell = Callable[[NamedQueue, Form, str], Awaitable[object]]
"""Tells a queue something, in the name of a person."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/queues")
async def queues(request: Request, person: Viewer) -> Response:
    views = await client_of(request).queues.list()
    version = print_of(*(view.model_dump_json() for view in views))
    if wants_part(request):
        return fresh(request, version, "queue_rows.html", rows=views)
    return page(
        request, "queues.html", "Queues", person=person, here="queues", live=here_of(request), version=version,
        rows=views,
    )  # fmt: skip


@router.get(f"/queues/{QUEUE}")
async def queue(request: Request, queue: str, person: Viewer) -> Response:
    """One queue: its numbers, how its jobs stand, what holds it up, and what can be changed."""
    name = request.query_params.get("id", queue) if queue == "-" else queue
    view = await client_of(request).queues[name].view()
    version = print_of(view.model_dump_json(), *person.permissions)
    if wants_part(request):
        return fresh(request, version, "queue_parts.html", person=person, view=view)
    return page(
        request, "queue.html", name, person=person, here="queues", live=here_of(request), version=version, view=view
    )


@router.post("/queue-words/{what}")
async def tell(request: Request, what: str, queue: str, person: Submitter) -> Response:
    """`what` is a word of `WORDS`."""
    if what not in WORDS:
        raise Refusal(404, "no-such-word", f"a queue can't be told {what[:50]!r}, but {', '.join(WORDS)}")
    try:
        await WORDS[what](client_of(request).queues[queue], await typed(request), person.name)
    except ValidationError as error:
        raise Refusal(422, "invalid-request", invalid_request(error.errors()).detail) from None
    return RedirectResponse(queue_url(queue), 303)


async def _pause(queue: NamedQueue, form: Form, by: str) -> None:
    await queue.pause(by=by, reason=reason_in(form))


async def _resume(queue: NamedQueue, _: Form, by: str) -> None:
    await queue.resume(by=by)


async def _set(queue: NamedQueue, form: Form, by: str) -> None:
    given: dict[str, Any] = {"rate": "0", **filled_in(form, "concurrency", "rate")}  # no rate is no limit
    sent = SetQueue.model_validate(given)
    await queue.set(by=by, concurrency=sent.concurrency, rate=sent.rate)


WORDS: dict[str, Tell] = {"pause": _pause, "resume": _resume, "set": _set}
