"""A batch as streams: what became of its lines, and how it stands whenever that changes.

Both can take hours, so they have places like all streams, and end when their reader loses the right to them.
"""

import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from surefoot.batches import Batch, BatchView
from surefoot.batches.results import BatchResult
from surefoot.batches.results import results as read_results
from surefoot.http.batches import TheBatch
from surefoot.http.following import RECHECK_SECONDS, May, event_of, kept_up
from surefoot.http.jobs import Viewer
from surefoot.http.looks import Looks
from surefoot.http.paths import BATCH
from surefoot.http.problems import PROBLEMS
from surefoot.http.reading import may_still, streams_of
from surefoot.http.streams import Streams

router = APIRouter(prefix="/batches", tags=["batches"], responses=PROBLEMS)

BUSY_SECONDS, QUIET_SECONDS = 1.0, 3.0
"""How long until a batch is looked at again, after a look that saw something new, and after one that did not."""

TheStreams = Annotated[Streams, Depends(streams_of)]


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
    looks: Looks = request.app.state.looks
    with looks.following_batch(batch) as followed:
        standing = _Standing(followed)
        async for event in kept_up(standing.look, lambda: standing.pause, streams, lambda: may_still(request)):
            yield event


class _Standing:
    """How a batch stood when it was looked at last."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._last: BatchView | None = None
        self.pause = QUIET_SECONDS

    async def look(self) -> AsyncIterator[ServerSentEvent]:
        view, self.pause = await self._batch.view(), QUIET_SECONDS
        if self._last is None or view.standing() != self._last.standing():
            self._last, self.pause = view, BUSY_SECONDS
            yield event_of("batch", view)
        if view.state == "ended":
            yield event_of("end", view)
