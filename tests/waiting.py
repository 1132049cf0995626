"""Waiting for a condition in tests: polled and bounded, and a failure tells what was seen last."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
EVERY = 0.01


async def until(ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool] = bool, *, seconds: float = 45.0) -> T:
    """What `ask` answers, as soon as `holds` says yes to it; asked again and again until then."""
    end = time.monotonic() + seconds
    while not holds(seen := await ask()):
        assert time.monotonic() < end, f"not within {seconds:g} seconds; seen last: {seen!r}"
        await asyncio.sleep(EVERY)
    return seen


class Flag:
    """An event that any thread and any event loop may set and wait for, since tools run on a loop of their own."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.set, self.is_set, self.clear = self._event.set, self._event.is_set, self._event.clear

    async def wait(self) -> None:
        async def state() -> bool:
            return self._event.is_set()

        await until(state, seconds=120)
