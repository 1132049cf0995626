"""A job as a stream of events: what is said in it, how its state changes, how it ends.

What there is to tell and when to ask for it is `listening.py`'s; here it gets the form of server-sent events, in which
only entries have ids: what a model was just saying can't be asked for again.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from surefoot.errors import NoWorker, ServerNotReached, SurefootError
from surefoot.http.answers import NumberedAudit, NumberedEntry
from surefoot.http.problems import problem_of
from surefoot.http.streams import Streams
from surefoot.job import Job
from surefoot.listening import Listener, News, Recorded
from surefoot.saying import Forgotten, Said
from workflows.contracts import Audit

UNREACHED_SECONDS = 2.0
RECHECK_SECONDS = 10.0
"""How long a stream may go on after its reader lost the right to it."""

May = Callable[[], Awaitable[bool]]
Look = Callable[[], AsyncIterator[ServerSentEvent]]


async def follow(
    job: Job, number: int, streams: Streams, may: May, *, live: bool = True
) -> AsyncIterator[ServerSentEvent]:
    """Events from entry `number` on, until the job has ended, the streams are closed, or the reader `may` no longer."""
    listener = Listener(number, live=live)

    async def look() -> AsyncIterator[ServerSentEvent]:
        async for news in listener.news(job):
            for event in _events(news):
                yield event

    async for event in kept_up(look, lambda: listener.pause, streams, may):
        yield event


async def kept_up(look: Look, pause: Callable[[], float], streams: Streams, may: May) -> AsyncIterator[ServerSentEvent]:
    """The events of one look after another, `pause` seconds apart, until one is an `end` or the reader has to go.

    What can't be looked at for the moment is told once, by `unreachable`.
    """
    reached, checked = True, time.monotonic()
    while True:
        try:
            async for event in look():
                yield event
                if event.event == "end":
                    return
            seconds, reached = pause(), True
        except SurefootError as error:
            if reached:
                yield event_of("unreachable", problem_of(error))
            if not isinstance(error, NoWorker | ServerNotReached):
                return
            seconds, reached = UNREACHED_SECONDS, False
        if not await streams.wait(seconds):
            return
        if time.monotonic() - checked >= RECHECK_SECONDS:
            checked = time.monotonic()
            if not await may():
                return


def _events(news: News) -> Iterator[ServerSentEvent]:
    if isinstance(news, Recorded) and isinstance(news.entry, Audit):
        yield event_of("audit", NumberedAudit(number=news.number, entry=news.entry), id=str(news.number))
    elif isinstance(news, Recorded):
        yield event_of("entry", NumberedEntry(number=news.number, entry=news.entry), id=str(news.number))
    elif isinstance(news, Said):
        yield event_of("delta", news)
    elif isinstance(news, Forgotten):
        yield event_of("forget", news)
    else:
        yield event_of("job", news)
        if news.outcome is not None:
            yield event_of("end", news.outcome)


def event_of(kind: str, data: BaseModel, *, id: str | None = None) -> ServerSentEvent:
    """One event, its data as JSON."""
    return ServerSentEvent(event=kind, id=id, raw_data=data.model_dump_json())
