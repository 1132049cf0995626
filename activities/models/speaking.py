"""Shows what a model says while it says it: by heartbeats, at a pace that neither a call nor all calls together exceed.

People who watch are a courtesy: nothing here may fail a call or delay its end, and what a call says within its first
moment costs nothing. One event loop says and shows.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from activities.attempts import Attempt
from activities.models.speech import Kind, Speech, Tail
from activities.providers.protocol import Live

EVERY = 0.3
"""Seconds between two beats of one call, and from its first word to the first of them."""

PER_SECOND = 40.0
"""Beats of all calls of a worker together: each is a write to the server's database."""


class Pace:
    """Lets `per_second` beats pass, one after the other: who waits first goes first, who gives up takes no place."""

    def __init__(
        self,
        per_second: float = PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._every, self._clock, self._sleep = 1.0 / per_second, clock, sleep
        self._line = asyncio.Lock()
        self._next = 0.0

    async def turn(self) -> None:
        """Returns when it is the caller's turn."""
        async with self._line:
            if (wait := self._next - self._clock()) > 0:
                await self._sleep(wait)
            self._next = self._clock() + self._every


class _Speaker:
    """A `Live` that beats once something was said."""

    def __init__(self, attempt: Attempt, turn: int, pace: Pace) -> None:
        self._attempt, self._turn, self._pace = attempt, turn, pace
        self._tail, self._news = Tail(), asyncio.Event()
        self._beats: asyncio.Task[None] | None = None

    def say(self, kind: Kind, text: str) -> None:
        self._tail.add(kind, text)
        self._news.set()
        if self._beats is None:
            self._attempt.speech = self._speech
            self._beats = asyncio.get_running_loop().create_task(self._beat())

    def end(self) -> None:
        self._attempt.speech = None
        if self._beats is not None:
            self._beats.cancel()

    def _speech(self) -> Speech:
        return Speech(turn=self._turn, attempt=self._attempt.info.attempt, runs=self._tail.runs())

    async def _beat(self) -> None:
        goes_on = True
        while goes_on:
            await asyncio.sleep(EVERY)
            await self._news.wait()
            await self._pace.turn()
            self._news.clear()
            goes_on = await self._attempt.show()


@asynccontextmanager
async def speaking(attempt: Attempt, turn: int, pace: Pace, *, live: bool) -> AsyncIterator[Live | None]:
    """Where a call of the model may say its answer while it comes; nowhere unless it is `live`."""
    if not live:
        yield None
        return
    speaker = _Speaker(attempt, turn, pace)
    try:
        yield speaker
    finally:
        speaker.end()
