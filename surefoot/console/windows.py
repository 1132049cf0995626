"""A part of what a job keeps: the newest entries, or those before them, without reading the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.job import Job
from workflows.contracts import Logged

ENTRIES = 80


@dataclass(frozen=True)
class Window:
    """Entries from number `start` on, of `total`."""

    start: int
    entries: Sequence[Logged]
    total: int

    @property
    def end(self) -> int:
        return self.start + len(self.entries)


async def newest(job: Job, count: int = ENTRIES) -> Window:
    """The last `count` entries of a job."""
    return await _read(job, None, count)


async def window(job: Job, start: int, count: int = ENTRIES) -> Window:
    """`count` entries of a job from number `start` on, at least the last one."""
    return await _read(job, start, count)


async def _read(job: Job, start: int | None, count: int) -> Window:
    segments = await job.segments()
    total = sum(segment.entries for segment in segments)
    first = max(0, total - count if start is None else min(start, total - 1))
    return Window(first, await job.entries(segments, first, count), total)
