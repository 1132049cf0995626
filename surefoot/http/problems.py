"""What goes wrong, as RFC 9457 problems: one table from Surefoot's errors to what a caller sees.

An error that is not in the table is a fault of ours: the caller learns nothing of it, the log everything.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from temporalio.service import RPCError, RPCStatusCode

from surefoot import errors
from workflows.contracts import Decided
from workflows.faults import worded

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
TYPES = "urn:surefoot:problem:"
RETRY_SECONDS = 5
"""When to ask again for what a worker or a server is missing for."""

FAULTS, WHERE_CHARS = 50, 200
"""Most of one answer, whatever was sent."""


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its status, the end of its type, its title."""

    status: int
    slug: str
    title: str


NO_JOB = Kind(404, "no-such-job", "There is no such job")
ENDED = Kind(409, "job-ended", "The job has ended")
UNUSABLE = Kind(400, "unusable", "This can't be used")
FAULT = Kind(500, "fault", "A fault of Surefoot itself")

ERRORS: dict[type[errors.SurefootError], Kind] = {
    errors.ServerNotReached: Kind(503, "server-not-reached", "The Temporal server does not answer"),
    errors.NoWorker: Kind(503, "no-worker", "No worker answers"),
    errors.NoSuchJob: NO_JOB,
    errors.NoSuchBatch: Kind(404, "no-such-batch", "There is no such batch"),
    errors.NoSuchSchedule: Kind(404, "no-such-schedule", "There is no such schedule"),
    errors.NoSuchLane: Kind(404, "no-such-lane", "There is no such lane"),
    errors.NoSuchQueue: Kind(404, "no-such-queue", "There is no such queue"),
    errors.NoSuchRound: Kind(404, "no-such-round", "The job has no such round"),
    errors.JobConflict: Kind(409, "job-conflict", "The id belongs to another job"),
    errors.ScheduleConflict: Kind(409, "schedule-conflict", "The id belongs to another schedule"),
    errors.JobRunning: Kind(409, "job-running", "The job has not ended"),
    errors.JobEnded: ENDED,
    errors.BatchEnded: Kind(409, "batch-ended", "The batch has ended"),
    errors.BatchGivenUp: Kind(409, "batch-given-up", "The batch is given up"),
    errors.BadLines: Kind(422, "bad-lines", "Lines can't be jobs"),
    errors.TooLarge: Kind(413, "too-large", "Too large"),
    errors.WrongValue: Kind(422, "wrong-value", "No job can have this"),
    errors.Unreadable: Kind(500, "unreadable", "The job can't be read here"),
}
"""Every error that people cause or can do something about; subclasses are of the kind of their base."""

REFUSALS: dict[str, Kind] = {
    "AlreadyDecided": Kind(409, "already-decided", "The call was decided already"),
    "StaleArguments": Kind(409, "stale-arguments", "The arguments are not those that were shown"),
    "UnknownCall": Kind(404, "unknown-call", "No such call waits"),
    "InvalidArguments": Kind(422, "invalid-arguments", "The tool does not take these arguments"),
    "NotAllowed": Kind(403, "not-allowed", "This decision is not allowed"),
    "JobEnded": ENDED,
    "TooLarge": ERRORS[errors.TooLarge],
}
"""Kinds of `DecisionRefused`."""


CAUSES: dict[RPCStatusCode, Kind] = {
    RPCStatusCode.INVALID_ARGUMENT: UNUSABLE,
    RPCStatusCode.RESOURCE_EXHAUSTED: Kind(503, "server-busy", "The Temporal server is busy"),
}
"""What the server said where that has no error of its own in `ERRORS`."""


class Fault(BaseModel):
    """One thing that is wrong with a request: where, and what."""

    where: str
    what: str


class Problem(BaseModel):
    """What went wrong (RFC 9457). `type` is stable, `detail` is for people."""

    model_config = ConfigDict(extra="forbid")

    type: str
    title: str
    status: int
    detail: str
    decided: Decided | None = Field(default=None, description="With already-decided: by whom, when and what.")
    faults: list[Fault] | None = Field(
        default=None,
        description="With invalid-request: each thing that is wrong. With bad-lines: the first 1,000 lines.",
    )


_SCHEMA = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, **_SCHEMA}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 500, 503)
}
"""What any route of the API may answer instead, for the OpenAPI document."""


class Refusal(Exception):
    """A request that is refused for a reason of HTTP's own: who asks, how, how often."""

    def __init__(self, status: int, slug: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        title = slug.replace("-", " ").capitalize()
        self.problem = Problem(type=TYPES + slug, title=title, status=status, detail=detail)
        self.headers = dict(headers or {})


def kind_of(error: Exception) -> Kind:
    """What kind of problem an error is."""
    if isinstance(error, errors.DecisionRefused):
        return REFUSALS.get(error.kind, REFUSALS["NotAllowed"])
    for known in type(error).__mro__:
        if known in ERRORS:
            return ERRORS[known]
    if isinstance(error, errors.SurefootError):
        return CAUSES.get(error.__cause__.status, FAULT) if isinstance(error.__cause__, RPCError) else UNUSABLE
    return FAULT


def problem_of(error: Exception) -> Problem:
    """An error as a caller sees it."""
    if isinstance(error, Refusal):
        return error.problem
    kind = kind_of(error)
    if kind is FAULT:
        log.error("a request failed", exc_info=error)
    text = "the log of this server has the details; jobs are safe" if kind is FAULT else seen(error)
    return Problem(
        type=TYPES + kind.slug,
        title=kind.title,
        status=kind.status,
        detail=text,
        decided=error.decided if isinstance(error, errors.DecisionRefused) else None,
        faults=bad_lines(error.lines) if isinstance(error, errors.BadLines) else None,
    )


def seen(error: Exception) -> str:
    """An error in words that hold for callers and for people in a browser, without what to type on a command line."""
    return error.seen if isinstance(error, errors.SurefootError) else str(error)


def bad_lines(lines: Sequence[errors.NumberedProblem]) -> list[Fault]:
    return [Fault(where=f"line {line.number}", what=line.problem) for line in lines]


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A problem as a response."""
    retry = {"Retry-After": str(RETRY_SECONDS)} if problem.status == 503 else {}
    body = problem.model_dump(mode="json", exclude_none=True)
    return JSONResponse(body, problem.status, headers={**retry, **(headers or {})}, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make `app` answer with problems, whatever goes wrong in it."""

    async def known(_: Request, error: Exception) -> JSONResponse:
        return answer(problem_of(error), error.headers if isinstance(error, Refusal) else None)

    async def http(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        phrase = HTTPStatus(error.status_code).phrase
        slug = phrase.lower().replace(" ", "-")
        return answer(
            Problem(type=TYPES + slug, title=phrase, status=error.status_code, detail=str(error.detail)), error.headers
        )

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        if any(tuple(each["loc"]) == ("body",) and isinstance(each.get("input"), bytes) for each in error.errors()):
            return answer(_not_json(request.headers.get("Content-Type")))
        return answer(invalid_request(error.errors()))

    app.add_exception_handler(errors.SurefootError, known)
    app.add_exception_handler(Refusal, known)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


def _not_json(media_type: str | None) -> Problem:
    """A body that was taken for no JSON, and so left as bytes. curl's `-d` alone says that it is a form."""
    said = f"its Content-Type is {media_type[:WHERE_CHARS]!r}" if media_type else "it has no Content-Type"
    what = f"the body was not read as JSON, since {said}: send it with Content-Type: application/json"
    return invalid_request([{"loc": ("header", "Content-Type"), "msg": what}])


def invalid_request(found: Any) -> Problem:
    """What pydantic found wrong with a request, without the values: they may be secrets, and large."""
    faults = [
        Fault(where=".".join(str(part) for part in each["loc"])[:WHERE_CHARS], what=worded(each))
        for each in found[:FAULTS]
    ]
    return Problem(
        type=TYPES + "invalid-request",
        title="Invalid request",
        status=422,
        detail="; ".join(f"{fault.where}: {fault.what}" for fault in faults[:5]),
        faults=faults,
    )
