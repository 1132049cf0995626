"""Forms in which a person decides: each is for the arguments that were shown, by their digest.

The person is who was authenticated. A second click on the same button is no second decision: the job takes each once,
and the answer to the second is what became of the first.
"""

import json
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from surefoot.console import cards as shown
from surefoot.console.argument_fields import read_json
from surefoot.console.became import became
from surefoot.console.editing import edit_page, grant_terms
from surefoot.console.inbox import call_page, item_of
from surefoot.console.pages import Approver, Form, PageRoute, access_of, client_of, fresh, page, typed, wants_part
from surefoot.console.rendering import render, with_query
from surefoot.errors import DecisionRefused, NoWorker
from surefoot.http.people import Person
from surefoot.http.problems import problem_of
from surefoot.job import Job
from workflows.contracts import Decision, Resolution
from workflows.faults import worded

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Word = Decision | Resolution
W = TypeVar("W", Decision, Resolution)


@router.post("/inbox/decide")
async def decide(request: Request, job: str, call: str, person: Approver) -> Response:
    form = await typed(request)
    return await _send(request, client_of(request).job(job), decision_of(call, form, person), person)


@router.post("/inbox/resolve")
async def resolve(request: Request, job: str, call: str, person: Approver) -> Response:
    form = await typed(request)
    given = {"result": form["text"]} if form.get("text") else {}
    word = _checked(
        Resolution, call=call, choice=form.get("choice"), by=person.name, roles=sorted(person.roles), **given
    )
    return await _send(request, client_of(request).job(job), word, person)


def decision_of(call: str, form: Form, person: Person) -> Decision:
    """The decision that a form says. Raises `DecisionRefused` if it says none."""
    given: dict[str, Any] = {"roles": sorted(person.roles)} if person.roles else {}
    if form.get("text"):
        given["text"] = form["text"].replace("\r\n", "\n")
    try:
        if form.get("arguments"):
            given["arguments"] = read_json(form["arguments"])
        if form.get("grant_count"):
            fixed = read_json(form.get("grant_arguments") or "{}")
            given["grant"] = grant_terms(form["grant_count"], form.get("grant_seconds", ""), fixed)
    except ValueError as error:
        raise DecisionRefused("InvalidArguments", f"nothing was decided: {error}") from None
    return _checked(
        Decision, call=call, digest=form.get("digest", ""), choice=form.get("choice"), by=person.name, **given
    )


def _checked(kind: type[W], **given: Any) -> W:
    try:
        return kind(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        raise DecisionRefused("NotAllowed", f"nothing was decided: {fault['loc'][0]}: {worded(fault)}") from None


async def _send(request: Request, job: Job, word: Word, person: Person) -> Response:
    try:
        await (job.decide(word) if isinstance(word, Decision) else job.resolve(word))
    except DecisionRefused as refused:
        if not _is_mine(refused, word):
            return await _refused(request, job, word, refused, person)
    except NoWorker:
        pass  # it was sent and is kept; `became` says so
    if wants_part(request):
        return fresh(request, "", "became.html", done=await became(job, word.call))
    return RedirectResponse(with_query("/inbox", {"in": job.id, "done": word.call}), 303)


def _is_mine(refused: DecisionRefused, word: Word) -> bool:
    """Whether it was refused because this person had said just that already: a double click."""
    decided = refused.decided
    return decided is not None and (decided.by, decided.choice) == (word.by, word.choice)


async def _refused(request: Request, job: Job, word: Word, refused: DecisionRefused, person: Person) -> Response:
    """Why nothing was decided, beside what the call asks for now."""
    status, text = problem_of(refused).status, refused.seen
    if refused.kind == "StaleArguments":
        text = "The arguments have changed since you saw them. Nothing was decided; this is what it asks for now."
    try:
        item = await item_of(job, word.call)
    except DecisionRefused:
        return await _over(request, job, word.call, text, status, person)
    if isinstance(word, Decision) and word.arguments is not None and refused.kind == "InvalidArguments":
        return edit_page(request, item, person, typed=json.dumps(word.arguments, indent=2), problem=text, status=status)
    if not wants_part(request):
        return await call_page(request, item, person, problem=text, status=status)
    if refused.kind == "StaleArguments":
        context = {"cards": shown.cards([item], person), "problem": text, "csrf": access_of(request).csrf(request)}
        return HTMLResponse(render("stale.html", **context), status)
    return HTMLResponse(render("alert.html", text=text), status)


async def _over(request: Request, job: Job, call: str, text: str, status: int, person: Person) -> Response:
    """The call does not wait any more: what became of it."""
    done = await became(job, call)
    if wants_part(request):
        return HTMLResponse(render("became.html", done=done), status)
    return page(
        request, "over.html", "Decided already", person=person, here="inbox", status=status, done=done, problem=text
    )
