"""A job as it goes on: what is said in it, how its state changes, and what its model is just saying.

The server is asked whether anything happened, and only then a worker what: a job that waits costs no worker anything.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefoot.glances import Glance
from surefoot.saying import Forgotten, Heard, Look, Said
from workflows.contracts import JobView, Logged, Turn

if TYPE_CHECKING:
    from surefoot.job import Job

SOON, LATER = 0.2, 1.0
"""Seconds until a job is looked at again: where something happened just now, and where nothing does."""

SPEAKING = 0.3
"""The same while a model speaks: a worker shows no more often what it says."""

AT_ONCE = 100
GROWS = {"history_events": 0, "history_bytes": 0, "entries": 0}
"""What changes with each step, and is no news of itself."""


@dataclass(frozen=True)
class Recorded:
    """An entry with its number, which never changes."""

    number: int
    entry: Logged


News = Recorded | JobView | Said | Forgotten


class Listener:
    """What of a job was told already. `pause` is how long to wait before it is asked for news again."""

    def __init__(self, start: int = 0, *, live: bool = True) -> None:
        self._number, self._live = start, live
        self._heard, self._turns = Heard(), 0
        self._mark: object = None
        self._view: JobView | None = None
        self.pause = SOON

    async def news(self, job: "Job") -> AsyncIterator[News]:
        """What came since; nothing if nothing happened."""
        glance = await job.glance()
        moved = False
        if glance.mark != self._mark:
            async for each in self._recorded(job, glance):
                moved = True
                yield each
        for said in self._said(glance.look):
            moved = True
            yield said
        speaks = self._live and glance.look is not None and glance.look.speech is not None
        self.pause = SOON if moved else min(self.pause * 1.5, LATER)
        self.pause = SPEAKING if speaks else self.pause

    async def _recorded(self, job: "Job", glance: Glance) -> AsyncIterator[Recorded | JobView]:
        view = await job.view()
        while self._number < view.entries:
            found, _ = await job.read(self._number, AT_ONCE)
            if not found:
                break
            for entry in found:
                number, self._number = self._number, self._number + 1
                self._turns = max(self._turns, entry.number) if isinstance(entry, Turn) else self._turns
                yield Recorded(number, entry)
        if (news := view.model_copy(update=GROWS)) != self._view:
            self._view = news
            yield view
        self._mark = glance.mark

    def _said(self, look: Look | None) -> Iterator[Said | Forgotten]:
        """Nothing of a turn that was told whole: the glance may be older than that."""
        if self._live and not (look and look.speech and look.speech.turn <= self._turns):
            yield from self._heard.news(look)


async def listen(job: "Job", start: int) -> AsyncIterator[News]:
    """News of a job from entry number `start` on, until it has ended."""
    listener = Listener(start)
    while True:
        async for each in listener.news(job):
            yield each
            if isinstance(each, JobView) and each.outcome is not None:
                return
        await asyncio.sleep(listener.pause)
