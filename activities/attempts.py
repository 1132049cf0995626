"""One attempt of an activity: what earlier attempts left behind, the mark that a write has begun, and the sign of life.

Heartbeat details are the only thing that one attempt can hand to the next, and a heartbeat without them erases them:
so the ledger is sent along with every beat.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import NoReturn

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.exceptions import ApplicationError

BEATS_PER_TIMEOUT = 3


@dataclass
class Ledger:
    """`started`: the function was called at least once. `failures`: attempts that ended with an error of their own."""

    started: bool = False
    failures: int = 0


class Attempt:
    """The current attempt. Make one at the start of an activity."""

    def __init__(self) -> None:
        self.info = activity.info()
        self.ledger = _ledger(list(self.info.heartbeat_details))

    async def mark_started(self) -> None:
        """Record durably, before the function is called, that it is about to be; returns once the server has it.

        Raises asyncio.CancelledError when this attempt is no longer the valid one, and RPCError when the server
        can't be reached: in both cases the function must not be called.
        """
        self.ledger.started = True
        await self._record()

    async def _record(self) -> None:
        handle = activity.client().get_async_activity_handle(task_token=self.info.task_token)
        try:
            await handle.heartbeat(asdict(self.ledger))
        except AsyncActivityCancelledError:
            raise asyncio.CancelledError("the server no longer counts on this attempt") from None

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Show the server that this worker is alive, so that its death is seen within the heartbeat timeout."""
        timeout = self.info.heartbeat_timeout or timedelta(seconds=30)
        beats = asyncio.create_task(self._beat(timeout.total_seconds() / BEATS_PER_TIMEOUT))
        try:
            yield
        finally:
            beats.cancel()

    async def _beat(self, pause: float) -> None:
        while True:
            # The start of an attempt counts as its first beat; a short step costs no message at all.
            await asyncio.sleep(pause)
            activity.heartbeat(asdict(self.ledger))

    async def fail(self, kind: str, message: str, *, allowed: int, retry: bool, delay: float | None = None) -> NoReturn:
        """End this attempt with an error; it is tried again if `retry` and fewer than `allowed` attempts failed."""
        self.ledger.failures += 1
        again = retry and self.ledger.failures < allowed
        if again:
            await self._record()
        raise ApplicationError(
            message,
            type=kind,
            non_retryable=not again,
            next_retry_delay=timedelta(seconds=delay) if delay is not None and again else None,
        )


def _ledger(details: list[object]) -> Ledger:
    first = details[0] if details else None
    known = {field.name for field in fields(Ledger)}
    return Ledger(**{k: v for k, v in first.items() if k in known}) if isinstance(first, dict) else Ledger()
