"""Waiting that is written once and driven by an event loop or by a plain thread.

A wait is a generator that yields how many seconds to pause and returns its result. Its `finally` blocks
run when the driver is cancelled, so a Ctrl-C never leaves a thread that polls on.
"""

import time
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[float, None, T]

POLL_SECONDS = 0.05


def drive(steps: Steps[T]) -> T:
    """Run `steps` to its end, sleeping in this thread."""
    while True:
        try:
            pause = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        time.sleep(pause)


async def drive_async(steps: Steps[T]) -> T:
    """Run `steps` to its end, sleeping on the event loop."""
    import asyncio

    try:
        while True:
            try:
                pause = next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            await asyncio.sleep(pause)
    finally:
        steps.close()
