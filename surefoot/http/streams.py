"""How many live streams there may be, and that they end when the server does.

A server that is told to end waits for its connections, and a stream's would never come to an end by itself.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.http.problems import Refusal


class Streams:
    """Places for streams: `most` in all, `each` for one person."""

    def __init__(self, most: int = 200, each: int = 20) -> None:
        self._most, self._each = most, each
        self._taken: Counter[str] = Counter()
        self._closing = asyncio.Event()

    @property
    def open(self) -> int:
        return self._taken.total()

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        """A place for one stream of this person. Raises `Refusal` if there is none."""
        if self._closing.is_set() or self.open >= self._most:
            raise Refusal(503, "too-many-streams", f"{self.open} streams are open, and no more can be")
        if self._taken[name] >= self._each:
            text = f"{self._each} streams of {name} are open, and no more can be: close one"
            raise Refusal(429, "too-many-streams", text, {"Retry-After": "5"})
        self._taken[name] += 1
        try:
            yield
        finally:
            self._taken[name] -= 1
            self._taken += Counter()  # drops those that have none

    @property
    def is_closing(self) -> bool:
        return self._closing.is_set()

    def close(self) -> None:
        """All streams end at their next step, and no new one begins."""
        self._closing.set()

    async def wait(self, seconds: float) -> bool:
        """Wait a moment; whether the stream may go on."""
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return True
        return False
