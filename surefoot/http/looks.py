"""One look at a job or a batch for all who follow it: two hundred streams of one ask the server as often as one.

Nobody sees later what happens to one that moves: a look is old after a moment. Only one to which nothing has happened
for long is looked at less often.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from surefoot.batches import Batch, BatchView
from surefoot.glances import Glance
from surefoot.job import Job

S = TypeVar("S")
Ages = tuple[tuple[float, float], ...]

JOB_AGES: Ages = ((0.0, 0.2), (5.0, 0.8), (60.0, 3.0))
"""Of a job that has stood still for so many seconds a look counts for so many."""

BATCH_AGES: Ages = ((0.0, 0.8), (30.0, 3.0))
"""The same of a batch, of which each look costs several queries."""


@dataclass
class _Look(Generic[S]):
    """What was seen last, and since when it has been so; `moved` says whether one sight differs from another."""

    ages: Ages
    moved: Callable[[S, S], bool]
    followers: int = 0
    sight: S | None = None
    seen_at: float = float("-inf")
    moved_at: float = field(default_factory=lambda: time.monotonic())
    asking: "asyncio.Task[S] | None" = None

    async def take(self, ask: Callable[[], Awaitable[S]]) -> S:
        """What was seen just now, or is seen if that is asked for."""
        now = time.monotonic()
        allowed = max(age for still, age in self.ages if now - self.moved_at >= still)
        if self.sight is not None and now - self.seen_at < allowed:
            return self.sight
        if self.asking is None:
            self.asking = asyncio.create_task(self._see(ask))
            self.asking.add_done_callback(_is_heard)
        return await asyncio.shield(self.asking)  # it goes on for the others

    async def _see(self, ask: Callable[[], Awaitable[S]]) -> S:
        try:
            sight = await ask()
            self.seen_at = time.monotonic()
            if self.sight is None or self.moved(self.sight, sight):
                self.moved_at = self.seen_at
            self.sight = sight
            return sight
        finally:
            self.asking = None


class Looks:
    """What the followers of jobs and batches share. What nobody follows is forgotten."""

    def __init__(self) -> None:
        self._looks: dict[str, _Look[Any]] = {}

    @contextmanager
    def following(self, job: Job) -> Iterator[Job]:
        """The same job, whose `glance` is asked for once for all who follow it."""
        look: _Look[Glance]
        with self._shared(job.id, JOB_AGES, lambda one, other: one != other) as look:
            yield _FollowedJob(job, look)

    @contextmanager
    def following_batch(self, batch: Batch) -> Iterator[Batch]:
        """The same batch, whose `view` is asked for once for all who follow it."""
        look: _Look[BatchView]
        with self._shared(batch.id, BATCH_AGES, lambda one, other: one.standing() != other.standing()) as look:
            yield _FollowedBatch(batch, look)

    @contextmanager
    def _shared(self, id: str, ages: Ages, moved: Callable[[Any, Any], bool]) -> Iterator[_Look[Any]]:
        """Jobs and batches are workflows of one server, so no two of them have one id."""
        look = self._looks.setdefault(id, _Look(ages, moved))
        look.followers += 1
        try:
            yield look
        finally:
            look.followers -= 1
            if not look.followers:
                del self._looks[id]


class _FollowedJob(Job):
    """A job that several follow."""

    def __init__(self, job: Job, look: _Look[Glance]) -> None:
        super().__init__(job._temporal, job.id, answer_within=job.answer_within, copies=job._copies)
        self._look = look

    async def glance(self) -> Glance:
        return await self._look.take(super().glance)


class _FollowedBatch(Batch):
    """A batch that several follow."""

    def __init__(self, batch: Batch, look: _Look[BatchView]) -> None:
        super().__init__(batch.temporal, batch.id)
        self._look = look

    async def view(self) -> BatchView:
        return await self._look.take(super().view)


def _is_heard(asking: "asyncio.Task[Any]") -> None:
    """Nobody may be left to hear what went wrong, of which asyncio would complain."""
    if not asking.cancelled():
        asking.exception()
