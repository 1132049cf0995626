"""A batch as streams: what became of its lines, and how it stands whenever that changes.

Both can take hours, so they have places like all streams, and end when their reader loses the right to them.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from surefoot.batches import Batch, BatchView
from surefoot.batches.results import BatchResult
from surefoot.batches.results import results as read_results
from surefoot.errors import NoWorker, ServerNotReached, SurefootError
from surefoot.http.batches import TheBatch
from surefoot.http.following import RECHECK_SECONDS, UNREACHED_SECONDS
from surefoot.http.jobs import Viewer
from surefoot.http.paths import BATCH
from surefoot.http.problems import PROBLEMS, problem_of
from surefoot.http.reading import may_still, streams_of
from surefoot.http.streams import Streams

router = APIRouter(prefix="/batches", tags=["batches"], responses=PROBLEMS)

BUSY_SECONDS, QUIET_SECONDS = 1.0, 3.0
"""How long until a batch is looked at again, after a look that saw something new, and after one that did not."""

TheStreams = Annotated[Streams, Depends(streams_of)]
May = Callable[[], Awaitable[bool]]


class BrokenOff(Exception):
    """A stream that ends before its end; raised so that the reader's connection breaks and he sees it."""


class JsonLines(StreamingResponse):
    """One JSON document a line."""

    media_type = "application/jsonl"


async def _place(person: Viewer, batch: TheBatch, streams: TheStreams) -> AsyncIterator[None]:
    """What must be known before a stream begins: afterwards no status can be sent any more."""
    await batch.describe()
    with streams.place(person.name):
        yield


@router.get(f"/{BATCH}/results", response_class=JsonLines, dependencies=[Depends(_place)])
async def results(
    _: Viewer,
    batch: TheBatch,
    request: Request,
    streams: TheStreams,
    whole: Annotated[bool, Query(alias="all", description="Also the lines that are not done yet.")] = False,
) -> JsonLines:
    """What became of each line, one JSON document each, in the order of the file; also while the batch runs."""
    rows = read_results(batch, whole=whole)
    first = await anext(rows, None)  # what can go wrong does so here, while a status can still be sent
    return JsonLines(_written(first, rows, streams, lambda: may_still(request)))


async def _written(
    row: BatchResult | None, rows: AsyncIterator[BatchResult], streams: Streams, may: May
) -> AsyncIterator[str]:
    checked = time.monotonic()
    while row is not None:
        yield f"{row.model_dump_json(exclude_none=True)}\n"
        if streams.is_closing:
            raise BrokenOff("this server ends")
        if time.monotonic() - checked >= RECHECK_SECONDS:
            checked = time.monotonic()
            if not await may():
                raise BrokenOff("the reader may read no more")
        row = await anext(rows, None)


@router.get(f"/{BATCH}/events", response_class=EventSourceResponse, dependencies=[Depends(_place)])
async def events(_: Viewer, batch: TheBatch, request: Request, streams: TheStreams) -> AsyncIterator[ServerSentEvent]:
    """A batch live: `batch` whenever it stands otherwise, `end` when it has ended.

    `unreachable` says that it can't be looked at for the moment.
    """
    async for event in _follow(batch, streams, lambda: may_still(request)):
        yield event


async def _follow(batch: Batch, streams: Streams, may: May) -> AsyncIterator[ServerSentEvent]:
    last: BatchView | None = None
    reached, checked = True, time.monotonic()
    while True:
        try:
            view = await batch.view()
            reached, pause = True, QUIET_SECONDS
            if last is None or _stands(view) != _stands(last):
                last, pause = view, BUSY_SECONDS
                yield _event("batch", view)
            if view.state == "ended":
                yield _event("end", view)
                return
        except SurefootError as error:
            if reached:
                yield _event("unreachable", problem_of(error))
            if not isinstance(error, NoWorker | ServerNotReached):
                return
            reached, pause = False, UNREACHED_SECONDS
        if not await streams.wait(pause):
            return
        if time.monotonic() - checked >= RECHECK_SECONDS:
            checked = time.monotonic()
            if not await may():
                return


def _stands(view: BatchView) -> BatchView:
    """Without what changes as time goes by though nothing happens."""
    return view.model_copy(update={"rate": None, "left_seconds": None, "spent": _without_time(view)})


def _without_time(view: BatchView) -> object:
    return view.spent.model_copy(update={"until": None})


def _event(kind: str, data: BaseModel) -> ServerSentEvent:
    return ServerSentEvent(event=kind, raw_data=data.model_dump_json())
