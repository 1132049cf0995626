"""A job as a stream of events: what is said in it, how its state changes, how it ends.

The server is asked whether anything happened, and only then a worker what: a job that waits costs no worker anything.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from surefoot.errors import NoWorker, ServerNotReached, SurefootError
from surefoot.http.answers import NumberedAudit, NumberedEntry
from surefoot.http.problems import problem_of
from surefoot.http.streams import Streams
from surefoot.job import Job
from workflows.contracts import Audit, JobView

SOON, LATER = 0.2, 1.0
"""Seconds until a job is looked at again: where something happened just now, and where nothing does."""

UNREACHED_SECONDS = 2.0
RECHECK_SECONDS = 10.0
"""How long a stream may go on after its reader lost the right to it."""

AT_ONCE = 100
GROWS = {"history_events": 0, "history_bytes": 0, "entries": 0}
"""What changes with each step, and is no news of itself."""


async def follow(
    job: Job, number: int, streams: Streams, may: Callable[[], Awaitable[bool]]
) -> AsyncIterator[ServerSentEvent]:
    """Events from entry `number` on, until the job has ended, the streams are closed, or the reader `may` no longer."""
    seen = _Seen(number)
    pause, reached, checked = SOON, True, time.monotonic()
    while True:
        try:
            moved = False
            async for event in seen.news(job):
                moved = True
                yield event
                if event.event == "end":
                    return
            pause, reached = SOON if moved else min(pause * 1.5, LATER), True
        except SurefootError as error:
            if reached:
                yield _event("unreachable", problem_of(error))
            if not isinstance(error, NoWorker | ServerNotReached):
                return
            pause, reached = UNREACHED_SECONDS, False
        if not await streams.wait(pause):
            return
        if time.monotonic() - checked >= RECHECK_SECONDS:
            checked = time.monotonic()
            if not await may():
                return


class _Seen:
    """What of a job was told already."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._mark: object = None
        self._view: JobView | None = None

    async def news(self, job: Job) -> AsyncIterator[ServerSentEvent]:
        """What came since; nothing if nothing happened."""
        mark = await job.mark()
        if mark == self._mark:
            return
        view = await job.view()
        while self._number < view.entries:
            found, _ = await job.read(self._number, AT_ONCE)
            if not found:
                break
            for entry in found:
                number, self._number = self._number, self._number + 1
                if isinstance(entry, Audit):
                    yield _event("audit", NumberedAudit(number=number, entry=entry), id=str(number))
                else:
                    yield _event("entry", NumberedEntry(number=number, entry=entry), id=str(number))
        if (news := view.model_copy(update=GROWS)) != self._view:
            self._view = news
            yield _event("job", view)
        self._mark = mark
        if view.outcome is not None:
            yield _event("end", view.outcome)


def _event(kind: str, data: BaseModel, *, id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(event=kind, id=id, raw_data=data.model_dump_json())
