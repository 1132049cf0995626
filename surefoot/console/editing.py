"""Forms that lead to a decision and change nothing themselves: other arguments with what they change, terms of a grant.

The form is made anew from the call each time, and its fields are numbered in that order; so it is checked first that
the call still is the one that was shown.
"""

import json
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request, Response

from surefoot.console import words
from surefoot.console.argument_fields import Field, fields, read, read_json
from surefoot.console.differences import differences
from surefoot.console.inbox import call_page, item_of
from surefoot.console.pages import Approver, PageRoute, client_of, page, typed
from surefoot.console.values import as_json
from surefoot.http.people import Person
from surefoot.http.requests import Grant
from surefoot.inbox import InboxItem
from workflows.contracts import GrantTerms, JsonObject

router = APIRouter(route_class=PageRoute, include_in_schema=False)

CHANGED = "The arguments have changed since you saw them; this is what the call asks for now."


@router.get("/inbox/edit")
@router.post("/inbox/edit")
async def edit(request: Request, job: str, call: str, person: Approver) -> Response:
    """The form; sent here, it goes on from arguments that were typed before."""
    item = await item_of(client_of(request).job(job), call)
    if request.method == "POST":
        before = (await typed(request)).get("arguments", "")
        return edit_page(request, item, person, typed=_indented(before) if before else None)
    wants_json = request.query_params.get("as") == "json"
    return edit_page(request, item, person, typed=as_json(item.arguments) if wants_json else None)


def edit_page(
    request: Request,
    item: InboxItem,
    person: Person,
    *,
    typed: str | None = None,
    form: list[Field] | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    """The form for other arguments: by fields, or as one text of JSON that was `typed`."""
    shown = form if form is not None else fields(item.parameters, item.arguments)
    context = {"item": item, "form": shown, "as_text": typed if shown or typed else "{}", "problem": problem}
    return page(request, "edit.html", f"Edit {item.tool}", person=person, here="inbox", status=status, **context)


@router.post("/inbox/review")
async def review(request: Request, job: str, call: str, person: Approver) -> Response:
    """What an edit changes."""
    item, form = await item_of(client_of(request).job(job), call), await typed(request)
    if form.get("digest") != item.digest:
        return await call_page(request, item, person, problem=CHANGED, status=409)
    if "raw" in form:
        try:
            arguments = read_json(form["raw"])
        except ValueError as error:
            return edit_page(request, item, person, typed=form["raw"], problem=str(error), status=422)
    else:
        arguments, seen = read(fields(item.parameters, item.arguments), form)
        if any(field.problem for field in seen):
            return edit_page(request, item, person, form=seen, problem="Some of it can't be used yet.", status=422)
    return page(
        request,
        "review.html",
        f"Edit {item.tool}",
        person=person,
        here="inbox",
        item=item,
        changes=differences(item.arguments, arguments),
        arguments=json.dumps(arguments),
    )


def _indented(text: str) -> str:
    try:
        return as_json(read_json(text))
    except ValueError:
        return text


@router.get("/inbox/grant")
async def grant(request: Request, job: str, call: str, person: Approver) -> Response:
    item = await item_of(client_of(request).job(job), call)
    return _grant_page(request, item, person)


@router.post("/inbox/rule")
async def rule(request: Request, job: str, call: str, person: Approver) -> Response:
    """The exact rule of a grant, before it is saved."""
    item, form = await item_of(client_of(request).job(job), call), await typed(request)
    if form.get("digest") != item.digest:
        return await call_page(request, item, person, problem=CHANGED, status=409)
    fixed: JsonObject = {
        name: value for number, (name, value) in enumerate(item.arguments.items()) if f"f{number}" in form
    }
    try:
        terms = grant_terms(form["count"], 60 * float(form["minutes"]), fixed)
    except (KeyError, ValueError):
        problem = "A grant is for 1 to 1000 calls, and for some minutes, a year at most: a number each."
        return _grant_page(request, item, person, problem=problem, status=422)
    return _grant_page(request, item, person, terms=terms)


def grant_terms(count: str, seconds: str | float, arguments: JsonObject) -> GrantTerms:
    """The terms of a grant, within the bounds that the API has. Raises `ValueError`."""
    grant = Grant.model_validate({"count": count, "seconds": seconds, "arguments": arguments})
    return GrantTerms(**grant.model_dump())


def _grant_page(
    request: Request,
    item: InboxItem,
    person: Person,
    *,
    terms: GrantTerms | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    context = {
        "item": item,
        "terms": terms,
        "rule": _in_words(item, terms) if terms else "",
        "fixed": json.dumps(terms.arguments) if terms else "",
        "problem": problem,
    }
    return page(request, "grant.html", f"Grant {item.tool}", person=person, here="inbox", status=status, **context)


def _in_words(item: InboxItem, terms: GrantTerms) -> str:
    until = datetime.now(UTC) + timedelta(seconds=terms.seconds)
    fixed = "with exactly these values of these arguments" if terms.arguments else "with any arguments"
    return (
        f"The next {words.plural(terms.count, 'call')} of {item.tool} in job {item.job}, {fixed}, run without asking:"
        f" for {words.span(terms.seconds)} from when you save it, that is until about {words.moment(until)}."
    )
