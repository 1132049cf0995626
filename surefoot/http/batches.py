"""Batches: submit a file of jobs, see how they stand, change how they run. Their streams are in `batch_streams.py`."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Depends, Query, Request

from surefoot.batches import Batch, BatchView
from surefoot.batches.checking import Checked, checked
from surefoot.batches.files import read_csv, read_jsonl
from surefoot.batches.retrying import retry as try_again
from surefoot.errors import BadLines
from surefoot.http.answers import BatchPage, BatchRef, SubmittedBatch, TriedAgain
from surefoot.http.batch_requests import (
    BatchOptions,
    CancelBatch,
    PauseBatch,
    ResumeBatch,
    RetryBatch,
    SetConcurrency,
)
from surefoot.http.jobs import Jobs, Key, Submitter, Viewer, client_of, offered_of
from surefoot.http.paths import BATCH
from surefoot.http.people import Person
from surefoot.http.problems import PROBLEMS, Refusal, bad_lines
from surefoot.http.uploads import Uploads
from surefoot.texts import marks
from workflows.batches.contracts import BatchOrder, Budget

router = APIRouter(prefix="/batches", tags=["batches"], responses=PROBLEMS)

JSONL = ("application/jsonl", "application/x-ndjson", "application/x-jsonlines")
CSV = "text/csv"
FILE = {
    "requestBody": {
        "required": True,
        "description": "The file, perhaps with Content-Encoding: gzip.",
        "content": {kind: {"schema": {"type": "string"}} for kind in (JSONL[0], JSONL[1], CSV)},
    }
}


def batch_of(batch: str, request: Request) -> Batch:
    """The batch that the path names."""
    return client_of(request).batches[batch]


def uploads_of(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


TheBatch = Annotated[Batch, Depends(batch_of)]


@router.post("", status_code=201, openapi_extra=FILE)
async def submit_batch(
    person: Submitter,
    request: Request,
    uploads: Annotated[Uploads, Depends(uploads_of)],
    options: Annotated[BatchOptions, Query()],
    key: Key = None,
) -> SubmittedBatch:
    """Check a file line by line and start a job for each; the body is the file: JSONL, or CSV with a `template`.

    A line is `{"custom_id", "input", "agent"?, "limits"?, "metadata"?}`. If one can't be a job, none begins, unless
    `skip_bad`. The same file with the same options (or the same Idempotency-Key) again is the same batch.
    """
    _check(request, options, key)
    if key is not None:
        options = options.model_copy(update={"id": id_of(key)})
    async with uploads.file(request) as file:
        return await submit(request, person, file, options)


def id_of(key: str) -> str:
    """The id of the batch that is submitted under this key."""
    return f"batch-{hashlib.sha256(key.encode()).hexdigest()[:20]}"


async def submit(request: Request, person: Person, file: BinaryIO, options: BatchOptions) -> SubmittedBatch:
    """Check a file and start its batch. Raises `BadLines`, `Refusal` for what the app does not have."""
    order, budget = _order(options, person), Budget(tokens=options.budget_tokens, cost_usd=options.budget_usd)
    agents = await _check_offered(request, options)
    lines = (
        read_jsonl(file, agent=options.agent, agents=agents)
        if options.template is None
        else read_csv(file, options.template, agent=options.agent, agents=agents)
    )
    with ExitStack() as stack:
        found = await asyncio.to_thread(stack.enter_context, checked(lines))
        if found.bad and not options.skip_bad:
            raise BadLines(_told(found), found.bad)
        batches = client_of(request).batches
        batch = await batches.submit_checked(
            found, order, id=options.id, concurrency=options.concurrency, budget=budget
        )
    return SubmittedBatch(batch=batch.id, lines=found.good, skipped=found.bad_count, bad=bad_lines(found.bad))


async def _check_offered(request: Request, options: BatchOptions) -> Sequence[str] | None:
    """The agents that lines may name, None where the app is not known. Raises `Refusal` for what it does not have."""
    if (offered := offered_of(request)) is None:
        return None
    if options.agent:
        await offered.check(options.agent)
    await offered.check_queue(options.queue)
    return await offered.names()


def _check(request: Request, options: BatchOptions, key: str | None) -> None:
    if key is not None and options.id is not None:
        raise Refusal(422, "invalid-request", "an Idempotency-Key and an id are two names for one batch: send one")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (*JSONL, CSV):
        said = f"its Content-Type is {kind[:100]!r}" if kind else "it has no Content-Type"
        raise Refusal(415, "no-file", f"this takes a file, and {said}: send {JSONL[0]} or {CSV}", CLOSE)
    if (kind == CSV) != (options.template is not None):
        text = f"a file of rows has the Content-Type {CSV} and a template, which says what a row asks for"
        raise Refusal(422, "invalid-request", text, CLOSE)


CLOSE = {"Connection": "close"}
"""The body was not read."""


def _order(options: BatchOptions, person: Person) -> BatchOrder:
    return BatchOrder(
        agent=options.agent,
        limits=options.limits(),
        model=options.model,
        by=person.name,
        priority=options.priority,
        weight=options.weight,
        lane=options.lane,
        within=options.within_seconds,
        queue=options.queue,
        **marks(options.tenant, options.tag),
    )


def _told(found: Checked) -> str:
    bad, whole = found.bad_count, found.bad_count + found.good
    return (
        f"{bad:,} of {whole:,} lines can't be jobs, so nothing was started: mend them, or go on without them (skip_bad)"
    )


@router.get("")
async def list_batches(
    _: Viewer,
    client: Jobs,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> BatchPage:
    """Batches, those under way first, then those that have ended, the last one first."""
    views, following = await client.batches.page(limit=limit, after=cursor)
    return BatchPage(batches=list(views), next=following)


@router.get(f"/{BATCH}")
async def show_batch(_: Viewer, batch: TheBatch) -> BatchView:
    """A batch as it stands now. Counts and spend may be some seconds late."""
    return await batch.view()


@router.post(f"/{BATCH}/pause", status_code=202)
async def pause_batch(person: Submitter, batch: TheBatch, sent: PauseBatch | None = None) -> BatchRef:
    """Begin no more jobs for now; those that run go on."""
    await batch.pause(by=person.name, reason=(sent or PauseBatch()).reason)
    return BatchRef(batch=batch.id)


@router.post(f"/{BATCH}/resume", status_code=202)
async def resume_batch(person: Submitter, batch: TheBatch, sent: ResumeBatch | None = None) -> BatchRef:
    """Begin jobs again."""
    await batch.resume(by=person.name, budget=(sent or ResumeBatch()).budget())
    return BatchRef(batch=batch.id)


@router.post(f"/{BATCH}/concurrency", status_code=202)
async def set_concurrency(person: Submitter, batch: TheBatch, sent: SetConcurrency) -> BatchRef:
    """Let so many jobs run at a time from now on."""
    await batch.set_concurrency(sent.concurrency, by=person.name)
    return BatchRef(batch=batch.id)


@router.post(f"/{BATCH}/cancel", status_code=202)
async def cancel_batch(person: Submitter, batch: TheBatch, sent: CancelBatch | None = None) -> BatchRef:
    """Begin no more jobs at all; those that run `finish`, are told to `stop`, or are ended now (`cancel`)."""
    await batch.cancel((sent or CancelBatch()).running, by=person.name)
    return BatchRef(batch=batch.id)


@router.post(f"/{BATCH}/retry", status_code=202)
async def retry_batch(_: Submitter, batch: TheBatch, sent: RetryBatch | None = None) -> TriedAgain:
    """Try lines again that failed or are incomplete; their earlier attempts are kept."""
    sent = sent or RetryBatch()
    return TriedAgain(batch=batch.id, again=await try_again(batch, sent.kinds, sent.custom_ids))
