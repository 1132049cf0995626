"""Waiting for a condition in tests: polled and bounded, and a failure tells what was seen last."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
EVERY = 0.02


async def until(ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool] = bool, *, seconds: float = 45.0) -> T:
    """What `ask` answers, as soon as `holds` says yes to it; asked again and again until then."""
    end = time.monotonic() + seconds
    while not holds(seen := await ask()):
        assert time.monotonic() < end, f"not within {seconds:g} seconds; seen last: {seen!r}"
        await asyncio.sleep(EVERY)
    return seen
