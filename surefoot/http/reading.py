"""What was said and done in a job: page by page, whole outputs, and live.

Nothing here changes anything, the audit least of all: there is no way to write to it but to act.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import PlainTextResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from activities.artifacts import ArtifactMissing, Artifacts
from surefoot.http.access import Access
from surefoot.http.answers import AuditPage, NumberedAudit, NumberedEntry, TranscriptPage
from surefoot.http.following import follow
from surefoot.http.jobs import TheJob, Viewer
from surefoot.http.looks import Looks
from surefoot.http.paths import CALL, JOB
from surefoot.http.problems import PROBLEMS, Refusal
from surefoot.http.streams import Streams
from surefoot.job import Job
from workflows.contracts import Audit, Result

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=PROBLEMS)

READ_AT_ONCE = 200
Start = Annotated[int, Query(ge=0, le=10**9, description="The number of the first entry.")]
Most = Annotated[int, Query(ge=1, le=1000, description="So many entries are looked at.")]


@router.get(f"/{JOB}/transcript")
async def transcript(_: Viewer, job: TheJob, start: Start = 0, limit: Most = 100) -> TranscriptPage:
    """What people, the model and the tools said."""
    found, total = await job.read(start, limit)
    entries = [
        NumberedEntry(number=number, entry=entry)
        for number, entry in enumerate(found, start)
        if not isinstance(entry, Audit)
    ]
    return TranscriptPage(entries=entries, next=_following(start, len(found), total))


@router.get(f"/{JOB}/audit")
async def audit(_: Viewer, job: TheJob, start: Start = 0, limit: Most = 1000) -> AuditPage:
    """Who did what, and when. Entries are only ever added."""
    found, total = await job.read(start, limit)
    entries = [
        NumberedAudit(number=number, entry=entry)
        for number, entry in enumerate(found, start)
        if isinstance(entry, Audit)
    ]
    return AuditPage(entries=entries, next=_following(start, len(found), total))


def _following(start: int, found: int, total: int) -> int | None:
    return start + found if found and start + found < total else None


@router.get(f"/{JOB}/calls/{CALL}/output", response_class=PlainTextResponse)
async def output(_: Viewer, job: TheJob, call: str, request: Request) -> PlainTextResponse:
    """The whole output of a call, also where the model was shown a part of it only."""
    result = await _result(job, call)
    text = result.content
    if result.artifact is not None:
        artifacts: Artifacts = request.app.state.artifacts
        try:
            text = await asyncio.to_thread(artifacts.read, result.artifact)
        except ArtifactMissing as error:
            raise Refusal(404, "output-missing", str(error)) from error
    return PlainTextResponse(text)


async def _result(job: Job, call: str) -> Result:
    start, total = 0, 1
    while start < total:
        found, total = await job.read(start, READ_AT_ONCE)
        for entry in found:
            if isinstance(entry, Result) and entry.call == call:
                return entry
        if not found:
            break
        start += len(found)
    raise Refusal(404, "no-such-output", f"job {job.id} has no result of a call {call!r} (yet)")


def streams_of(request: Request) -> Streams:
    streams: Streams = request.app.state.streams
    return streams


async def _place(person: Viewer, job: TheJob, streams: Annotated[Streams, Depends(streams_of)]) -> AsyncIterator[None]:
    """What must be known before a stream begins: afterwards no status can be sent any more."""
    await job.mark()
    with streams.place(person.name):
        yield


@router.get(f"/{JOB}/events", response_class=EventSourceResponse, dependencies=[Depends(_place)])
async def events(
    _: Viewer,
    job: TheJob,
    request: Request,
    streams: Annotated[Streams, Depends(streams_of)],
    start: Start = 0,
    live: Annotated[bool, Query(description="Also what the model is just saying.")] = True,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=20)] = None,
) -> AsyncIterator[ServerSentEvent]:
    """A job live: `entry` and `audit` for each entry (their id is its number), `job` when its state changed, `end`.

    `delta` is a piece of an answer that is being made, `forget` says that the pieces of that attempt are void.
    `unreachable` says that the job can't be looked at for the moment. With Last-Event-ID the stream goes on behind
    that entry.
    """
    number = int(last) + 1 if last is not None and last.isascii() and last.isdigit() else start
    looks: Looks = request.app.state.looks
    with looks.following(job) as followed:
        async for event in follow(followed, number, streams, lambda: may_still(request), live=live):
            yield event


async def may_still(request: Request) -> bool:
    """Whether who reads a stream may do so now: a stream is one long request, and tokens and sessions end."""
    access: Access = request.app.state.access
    try:
        return (await access.person(request)).may("view")
    except Refusal:
        return False
