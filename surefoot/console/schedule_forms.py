"""The form by which people make a schedule, or change one: what they leave as it was shown is not changed."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from surefoot.console.pages import Form, PageRoute, Submitter, client_of, page, typed
from surefoot.console.rendering import schedule_url
from surefoot.errors import SurefootError
from surefoot.http.jobs import offered_of
from surefoot.http.people import Person
from surefoot.http.problems import Refusal, invalid_request, problem_of
from surefoot.http.schedule_requests import ChangeSchedule, NewSchedule
from surefoot.http.schedules import change_schedule, create_schedule
from surefoot.schedules import Overlap, ScheduleView
from surefoot.times import duration

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FIELDS = ("id", "agent", "message", "cron", "every", "timezone", "overlap", "tenant", "tags", "queue")


@router.get("/new-schedule")
async def new_schedule(request: Request, person: Submitter) -> Response:
    return await _form(request, person, dict.fromkeys(FIELDS, "") | {"overlap": "skip"})


@router.post("/new-schedule")
async def make(request: Request, person: Submitter) -> Response:
    given = _given(await typed(request))
    try:
        sent = NewSchedule.model_validate({name: value for name, value in _fields(given).items() if value})
        made = await create_schedule(person, client_of(request), offered_of(request), sent)
        return RedirectResponse(schedule_url(made.schedule), 303)
    except (ValidationError, SurefootError, Refusal) as error:
        return await _refused(request, person, given, error)


@router.get("/change-schedule")
async def edit(request: Request, person: Submitter, schedule: str) -> Response:
    view = await client_of(request).schedules[schedule].view()
    return await _form(request, person, _shown(view), schedule)


@router.post("/change-schedule")
async def change(request: Request, person: Submitter, schedule: str) -> Response:
    handle = client_of(request).schedules[schedule]
    before, given = _shown(await handle.view()), _given(await typed(request))
    changed = {name: value for name, value in given.items() if value != before[name] and name != "id"}
    if not changed:
        return RedirectResponse(schedule_url(schedule), 303)
    try:
        fields = {name: value or None for name, value in _fields(changed).items()}
        sent = ChangeSchedule.model_validate(fields)
        await change_schedule(person, handle, offered_of(request), sent)
        return RedirectResponse(schedule_url(schedule), 303)
    except (ValidationError, SurefootError, Refusal) as error:
        return await _refused(request, person, given, error, schedule)


def _given(form: Form) -> Form:
    """What was typed, as it would be shown again."""
    return {name: form.get(name, "").replace("\r\n", "\n").strip() for name in FIELDS}


def _shown(view: ScheduleView) -> Form:
    """A schedule as the form shows it."""
    terms = view.terms
    return {
        "id": view.schedule,
        "agent": view.agent,
        "message": view.message.strip(),
        "cron": "\n".join(terms.cron),
        "every": _length(terms.every) if terms.every else "",
        "timezone": terms.timezone or "",
        "overlap": terms.overlap,
        "tenant": view.tenant or "",
        "tags": ", ".join(view.tags),
        "queue": view.queue or "",
    }


def _length(every: timedelta) -> str:
    """As people write it: `15m`, `6h`."""
    seconds = every.total_seconds()
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def _fields(given: Mapping[str, str]) -> dict[str, Any]:
    """The same by the names of the API. Raises `WrongValue` for a length of time that is none."""
    fields: dict[str, Any] = dict(given)
    if "cron" in fields:
        fields["cron"] = [line for line in (each.strip() for each in fields["cron"].split("\n")) if line]
    if "tags" in fields:
        fields["tags"] = [tag for tag in (each.strip() for each in fields["tags"].split(",")) if tag]
    if "every" in fields:
        every = fields.pop("every")
        fields["every_seconds"] = duration(every).total_seconds() if every else None
    return fields


async def _refused(
    request: Request, person: Person, given: Form, error: Exception, schedule: str | None = None
) -> Response:
    problem = invalid_request(error.errors()) if isinstance(error, ValidationError) else problem_of(error)
    return await _form(request, person, given, schedule, problem=problem.detail, status=problem.status)


async def _form(
    request: Request, person: Person, given: Form, schedule: str | None = None, *, problem: str = "", status: int = 200
) -> Response:
    """The form; with a `schedule` it changes that one."""
    offered = offered_of(request)
    agents = await offered.names() if offered is not None else []
    queues = await offered.queues() if offered is not None else None
    return page(
        request, "schedule_form.html", f"Change {schedule}" if schedule else "New schedule", person=person,
        here="schedules", status=status, given=given, schedule=schedule, agents=agents, queues=queues,
        overlaps=get_args(Overlap), problem=problem,
    )  # fmt: skip
