"""Pages about schedules: all of them, one, and the forms by which people hold it, fire it and delete it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from surefoot.client import Client
from surefoot.console import words
from surefoot.console.pages import (
    Form,
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
from surefoot.console.rendering import schedule_url
from surefoot.errors import NoSuchJob
from surefoot.http.paths import SCHEDULE
from surefoot.http.problems import Refusal
from surefoot.lists import JobRow
from surefoot.schedules import Fired, Schedule, Terms

Tell = Callable[[Schedule, Form, str], Awaitable[object]]
"""Tells a schedule something, in the name of a person."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)

SHOWN = 200


@router.get("/schedules")
async def schedules(request: Request, person: Viewer) -> Response:
    """It does not renew itself: each look asks every schedule."""
    views = await client_of(request).schedules.list(limit=SHOWN)
    rows = [(view, times_of(view.terms)) for view in sorted(views, key=lambda view: view.schedule)]
    return page(request, "schedules.html", "Schedules", person=person, here="schedules", rows=rows, most=SHOWN)


@router.get(f"/schedules/{SCHEDULE}")
async def schedule(request: Request, schedule: str, person: Viewer) -> Response:
    """One schedule: when it fires next, the last jobs that it started, and what can be done about it."""
    name = request.query_params.get("id", schedule) if schedule == "-" else schedule
    view = await client_of(request).schedules[name].view()
    jobs = await _jobs(client_of(request), view.recent)
    rows = [row.model_dump_json() if row else "" for _, row in jobs]
    version = print_of(view.model_dump_json(), *rows, *person.permissions)
    context: dict[str, Any] = {"view": view, "times": times_of(view.terms), "jobs": jobs}
    if wants_part(request):
        return fresh(request, version, "schedule_parts.html", person=person, **context)
    return page(
        request, "schedule.html", name, person=person, here="schedules", live=here_of(request), version=version,
        **context,
    )  # fmt: skip


async def _jobs(client: Client, recent: Sequence[Fired]) -> list[tuple[Fired, JobRow | None]]:
    """The jobs of these firings, as far as the server has them still."""

    async def row(fired: Fired) -> JobRow | None:
        with suppress(NoSuchJob):
            return await client.job(fired.job).row()
        return None

    return list(zip(recent, await asyncio.gather(*(row(fired) for fired in recent)), strict=True))


def times_of(terms: Terms) -> str:
    """When it fires, in a line."""
    parts = [*terms.cron, *([f"every {words.span(terms.every.total_seconds())}"] if terms.every else [])]
    text = ", ".join(parts)
    return f"{text} ({terms.timezone})" if terms.timezone else text


@router.post("/schedule-words/{what}")
async def tell(request: Request, what: str, schedule: str, person: Submitter) -> Response:
    """`what` is a word of `WORDS`; a schedule that is deleted has no page any more."""
    if what not in WORDS:
        raise Refusal(404, "no-such-word", f"a schedule can't be told {what[:50]!r}, but {', '.join(WORDS)}")
    await WORDS[what](client_of(request).schedules[schedule], await typed(request), person.name)
    return RedirectResponse("/schedules" if what == "delete" else schedule_url(schedule), 303)


async def _pause(schedule: Schedule, form: Form, by: str) -> None:
    await schedule.pause(by=by, reason=reason_in(form))


async def _resume(schedule: Schedule, _: Form, by: str) -> None:
    await schedule.resume(by=by)


async def _trigger(schedule: Schedule, _: Form, __: str) -> None:
    await schedule.trigger()


async def _delete(schedule: Schedule, _: Form, __: str) -> None:
    await schedule.delete()


WORDS: dict[str, Tell] = {"pause": _pause, "resume": _resume, "trigger": _trigger, "delete": _delete}
