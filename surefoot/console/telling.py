"""Forms by which people start a job and tell it something. Each leads back to the page of the job."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from surefoot.console.jobs import new_page
from surefoot.console.pages import Form, PageRoute, Submitter, client_of, number_in, typed
from surefoot.console.rendering import job_url
from surefoot.errors import JobEnded, JobRunning, SurefootError
from surefoot.http.jobs import offered_of
from surefoot.http.people import Person
from surefoot.http.problems import Refusal, problem_of
from surefoot.job import Job

Tell = Callable[[Request, str, Form, Person], Awaitable[str]]
"""Tells a job something; the job whose page is shown then."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/new")
async def start(request: Request, person: Submitter) -> Response:
    form = await typed(request)
    given = {name: form.get(name, "").strip() for name in ("agent", "message", "tenant", "tags", "queue")}
    problem, status = "", 422
    if not given["agent"] or not given["message"]:
        problem = "A job needs an agent and something to work on: fill in both."
    else:
        try:
            if (offered := offered_of(request)) is not None:
                await offered.check(given["agent"])
                await offered.check_queue(given["queue"] or None)
            job = await client_of(request).start(
                given["agent"],
                given["message"].replace("\r\n", "\n"),
                key=form.get("key") or None,  # made with the form, so that a second click finds the same job
                tenant=given["tenant"] or None,
                tags=[tag for tag in (each.strip() for each in given["tags"].split(",")) if tag],
                by=person.name,
                queue=given["queue"] or None,
            )
            return RedirectResponse(job_url(job.id), 303)
        except (SurefootError, Refusal) as error:
            told = problem_of(error)
            problem, status = told.detail, told.status
    return await new_page(request, person, given, form.get("key", ""), problem=problem, status=status)


@router.post("/tell/{what}")
async def tell(request: Request, what: str, job: str, person: Submitter) -> Response:
    """`what` is a word of `WORDS`."""
    if what not in WORDS:
        raise Refusal(404, "no-such-word", f"a job can't be told {what!r}, but {', '.join(WORDS)}")
    target = await WORDS[what](request, job, await typed(request), person)
    return RedirectResponse(job_url(target), 303)


async def _say(request: Request, job: str, form: Form, person: Person) -> str:
    """A message, whatever the job does: one that ended goes on, one that runs hears it after its round. Said once."""
    client, text, once = client_of(request), _text(form), form.get("id") or None
    try:
        await client.reply(job, text, key=once, by=person.name)
    except JobRunning:
        try:
            await client.job(job).steer(text, by=person.name, id=once)
        except JobEnded:  # just now
            await client.reply(job, text, key=once, by=person.name)
    return job


def _plain(send: Callable[[Job, str], Awaitable[None]]) -> Tell:
    """A word that needs nothing but who says it."""

    async def tell(request: Request, job: str, _: Form, person: Person) -> str:
        await send(client_of(request).job(job), person.name)
        return job

    return tell


async def _fork(request: Request, job: str, form: Form, person: Person) -> str:
    number = number_in(form.get("round", ""))
    if number is None:
        said = form.get("round", "")[:50]
        raise Refusal(422, "invalid-request", f"{said!r} is no number of a round: a job is forked after a round")
    text = form.get("text", "").replace("\r\n", "\n").strip() or None
    model = form.get("model", "").strip() or None
    once = form.get("id") or None  # made with the form, so that a second click finds the same fork
    return (await client_of(request).fork(job, number, text, key=once, by=person.name, model=model)).id


def _text(form: Form) -> str:
    text = form.get("text", "").replace("\r\n", "\n").strip()
    if not text:
        raise Refusal(422, "invalid-request", "the message is empty: say something")
    return text


WORDS: dict[str, Tell] = {
    "say": _say,
    "pause": _plain(lambda job, by: job.pause(by=by)),
    "resume": _plain(lambda job, by: job.resume(by=by)),
    "stop": _plain(lambda job, by: job.stop(by=by)),
    "cancel": _plain(lambda job, by: job.cancel(by=by)),
    "fork": _fork,
}
