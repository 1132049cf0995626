"""Looks at something over and over, and tells how it stands whenever that has changed, until it has ended.

It asks; nobody is told. What may look from many places at once shares its looks: `surefoot/http/looks.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar


class View(Protocol):
    """How something stands. `state` is `ended` once it stands so for good."""

    @property
    def state(self) -> str: ...


V = TypeVar("V", bound=View)


async def watch(look: Callable[[], Awaitable[V]], *, every: float) -> AsyncIterator[V]:
    """Each view that is not as the one before, looked at `every` so many seconds; the last one has ended."""
    last: V | None = None
    while True:
        view = await look()
        if view != last:
            yield view
            last = view
        if view.state == "ended":
            return
        await asyncio.sleep(every)
