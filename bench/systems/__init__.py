"""The systems that are measured, one a module: each has a `hosting(place)` and a `recorded(place, job)`.

`place` is the address of a Temporal server, or a folder for a system that has none. `hosting` is an async context
manager in which jobs can run; what it yields runs one job by its id to its end, and raises if it did not complete.
A module may name a `loop_factory` too, if its workers run on an event loop that is not asyncio's own.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

RunJob = Callable[[str, int], Awaitable[None]]


@dataclass(frozen=True)
class Recorded:
    """What one job left in the durable record: events (or checkpoints), and bytes."""

    events: int
    bytes: int


class System(Protocol):
    """What a module of this package offers."""

    def hosting(self, place: str) -> AbstractAsyncContextManager[RunJob]: ...

    async def recorded(self, place: str, job: str) -> Recorded: ...


class Incomplete(Exception):
    """A job came to an end that is not the one it was to reach."""
