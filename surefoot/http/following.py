"""A job as a stream of events: what is said in it, how its state changes, how it ends.

The server is asked whether anything happened, and only then a worker what: a job that waits costs no worker anything.
"""

from collections.abc import AsyncIterator

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from surefoot.errors import NoWorker, ServerNotReached
from surefoot.http.answers import NumberedEntry
from surefoot.http.problems import problem_of
from surefoot.http.streams import Streams
from surefoot.job import Job
from workflows.contracts import Audit, JobView

SOON, LATER = 0.2, 1.0
"""Seconds until a job is looked at again: where something happened just now, and where nothing does."""

UNREACHED_SECONDS = 2.0
AT_ONCE = 100
GROWS = {"history_events": 0, "history_bytes": 0, "entries": 0}
"""What changes with each step, and is no news of itself."""


async def follow(job: Job, number: int, streams: Streams) -> AsyncIterator[ServerSentEvent]:
    """Events from entry `number` on, until the job has ended or the streams are closed."""
    mark: object = None
    shown: JobView | None = None
    pause = SOON
    reached = True
    while True:
        try:
            now = await job.mark()
            if now != mark:
                view = await job.view()
                async for event in _entries(job, number, view.entries):
                    number = int(event.id or number) + 1
                    yield event
                news = view.model_copy(update=GROWS)
                if news != shown:
                    yield _event("job", view)
                mark, shown, pause, reached = now, news, SOON, True
                if view.outcome is not None:
                    yield _event("end", view.outcome)
                    return
            else:
                pause = min(pause * 1.5, LATER)
        except (NoWorker, ServerNotReached) as error:
            if reached:
                yield _event("unreachable", problem_of(error))
            reached, pause = False, UNREACHED_SECONDS
        if not await streams.wait(pause):
            return


async def _entries(job: Job, number: int, total: int) -> AsyncIterator[ServerSentEvent]:
    while number < total:
        found, _ = await job.read(number, AT_ONCE)
        if not found:
            return
        for entry in found:
            if isinstance(entry, Audit):
                yield ServerSentEvent(event="audit", id=str(number), data={"number": number, "entry": entry})
            else:
                yield _event("entry", NumberedEntry(number=number, entry=entry), id=str(number))
            number += 1


def _event(kind: str, data: BaseModel, *, id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(event=kind, id=id, raw_data=data.model_dump_json())
