"""One look at a job for all who follow it: two hundred streams of one job ask the server as often as one.

Nobody sees later what happens to a job that moves: a look is old after a moment. Only a job to which nothing has
happened for long is looked at less often.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from surefoot.glances import Glance
from surefoot.job import Job

AGES = ((0.0, 0.2), (5.0, 0.8), (60.0, 3.0))
"""Of a job that has stood still for so many seconds a look counts for so many."""


@dataclass
class _Look:
    """What was seen of a job last. `moved_at` is since when it has been so."""

    followers: int = 0
    glance: Glance | None = None
    seen_at: float = float("-inf")
    moved_at: float = 0.0
    asking: "asyncio.Task[Glance] | None" = None

    def fresh(self, now: float) -> Glance | None:
        """What was seen, if that was just now."""
        allowed = max(age for still, age in AGES if now - self.moved_at >= still)
        return self.glance if now - self.seen_at < allowed else None


class Looks:
    """What the followers of jobs share. Jobs that nobody follows are forgotten."""

    def __init__(self) -> None:
        self._looks: dict[str, _Look] = {}

    @contextmanager
    def following(self, job: Job) -> Iterator[Job]:
        """The same job, whose `glance` is asked for once for all who follow it."""
        look = self._looks.setdefault(job.id, _Look(moved_at=time.monotonic()))
        look.followers += 1
        try:
            yield _Followed(job, look)
        finally:
            look.followers -= 1
            if not look.followers:
                del self._looks[job.id]


class _Followed(Job):
    """A job that several follow."""

    def __init__(self, job: Job, look: _Look) -> None:
        super().__init__(job._temporal, job.id, answer_within=job.answer_within, copies=job._copies)
        self._look = look

    async def glance(self) -> Glance:
        look = self._look
        if (known := look.fresh(time.monotonic())) is not None:
            return known
        if look.asking is None:
            look.asking = asyncio.create_task(self._seen())
            look.asking.add_done_callback(_is_heard)
        return await asyncio.shield(look.asking)  # it goes on for the others

    async def _seen(self) -> Glance:
        look = self._look
        try:
            glance = await super().glance()
            look.seen_at = time.monotonic()
            if glance != look.glance:
                look.glance, look.moved_at = glance, look.seen_at
            return glance
        finally:
            look.asking = None


def _is_heard(asking: "asyncio.Task[Glance]") -> None:
    """Nobody may be left to hear what went wrong, of which asyncio would complain."""
    if not asking.cancelled():
        asking.exception()
