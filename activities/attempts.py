"""One attempt of an activity: what earlier attempts left behind, the mark that a write has begun, and the sign of life.

Heartbeat details are the only thing that one attempt can hand to the next, and every heartbeat replaces them, so each
carries the whole ledger. The SDK holds its heartbeats back and sends them late: one from before the mark would erase
it. So until a write is marked, its beats go the mark's own way, one at a time; only then does the SDK send them, which
it must, since it gives up an activity that it hears nothing of. Beats that show what a model says go the mark's way as
well; one that the SDK held back may come after them, and whoever watches sees less for a moment.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from typing import Any, NoReturn

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from activities.models.speech import Speech

log = logging.getLogger(__name__)
BEATS_PER_TIMEOUT = 3
PASSES = 5
"""How many attempts may find that their worker does not have what the step needs."""


@dataclass
class Ledger:
    """`started`: the function was called at least once. `failures`: attempts that ended with an error of their own.

    `passed`: attempts on workers whose app does not have what the step needs. `refusals`: attempts that a rated
    provider refused for coming too fast. `troubles`: what was said of each model of a list that was out of order, by
    its place. `kept`: what model adapters left to the next attempt (`kept.py`).
    """

    started: bool = False
    failures: int = 0
    passed: int = 0
    refusals: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    def details(self) -> dict[str, Any]:
        """As a heartbeat carries it."""
        rare = {"troubles": {}, "kept": {}, "refusals": 0}
        return {name: value for name, value in asdict(self).items() if name not in rare or value != rare[name]}


class AttemptOver(ApplicationError):
    """The server no longer counts on this attempt: its job was cancelled or has ended, or its time is up."""

    def __init__(self) -> None:
        super().__init__(
            "the server no longer counts on this attempt",
            type="AttemptOver",
            category=ApplicationErrorCategory.BENIGN,
        )


class Attempt:
    """The current attempt. Make one at the start of an activity."""

    def __init__(self) -> None:
        self.info = activity.info()
        self.ledger = _ledger(list(self.info.heartbeat_details))
        self.cancelled = False
        """Whether what runs should give up: the attempt is over, or its worker shuts down. Read from any thread."""
        self.speech: Callable[[], Speech] | None = None
        """What people who watch are shown, if anything; each beat carries it beside the ledger."""
        self._over = False
        self._awaits_mark = False
        self._sending = asyncio.Lock()

    async def mark_started(self) -> None:
        """Record durably, before the function is called, that it is about to be; returns once the server has it.

        Raises AttemptOver when this attempt is no longer the valid one, and RPCError when the server can't be
        reached: in both cases the function must not be called.
        """
        before, self.ledger.started = self.ledger.started, True
        try:
            await self._record()
        except AttemptOver:
            # A paused attempt is refused, but what it sent is kept for the next one: take the mark back.
            self.ledger.started = before
            with suppress(AttemptOver, RPCError):
                await self._record()
            raise
        self._awaits_mark = False

    @property
    def is_over(self) -> bool:
        """Whether the server was seen to count on this attempt no longer."""
        return self._over

    async def keep(self, key: str, value: str | None) -> None:
        """Leave a value to the attempts after this one, or none any more; durable once this returns.

        Raises AttemptOver, or RPCError when the server can't be reached; the beats that follow carry it then.
        """
        if value is None:
            self.ledger.kept.pop(key, None)
        else:
            self.ledger.kept[key] = value
        if not self._awaits_mark:
            activity.heartbeat(*self._details())  # what the SDK holds back must not be older
        await self._record()

    async def show(self) -> bool:
        """Send a beat now for the sake of `speech`; whether another one may follow. Never raises.

        It is not cut short: a beat that was on its way could reach the server behind the next one, with an old ledger.
        """
        return await asyncio.shield(asyncio.ensure_future(self._shown()))

    async def _shown(self) -> bool:
        async with self._sending:
            try:
                await self._send()
            except AsyncActivityCancelledError:
                return False  # the SDK learns that too, and ends the attempt
            except RPCError as error:
                log.debug("what %s says was not shown: %s", self.info.activity_id, error)
                return error.status != RPCStatusCode.NOT_FOUND
        return True

    async def _send(self) -> None:
        handle = activity.client().get_async_activity_handle(task_token=self.info.task_token)
        await handle.heartbeat(*self._details())

    def _details(self) -> list[Any]:
        shown = [] if self.speech is None else [self.speech()]
        return [self.ledger.details(), *shown]

    async def _record(self) -> None:
        async with self._sending:
            try:
                await self._send()
            except AsyncActivityCancelledError:
                self._over = True
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise
                self._over = True
            if self._over:
                self.cancelled = True
                raise AttemptOver

    @asynccontextmanager
    async def beating(self, *, until_mark: bool = False) -> AsyncIterator[None]:
        """Show the server that this worker is alive, so that its death is seen within the heartbeat timeout.

        `until_mark` says that `mark_started` is still to come. What runs inside is cancelled as soon as a beat learns
        that the attempt is over.
        """
        self._awaits_mark = until_mark
        timeout = self.info.heartbeat_timeout or timedelta(seconds=30)
        pause, work = timeout.total_seconds() / BEATS_PER_TIMEOUT, asyncio.current_task()
        beats: list[asyncio.Task[None]] = []
        # The start of an attempt counts as its first beat; a short step costs no message and no task at all.
        loop = asyncio.get_running_loop()
        due = loop.call_later(pause, lambda: beats.append(loop.create_task(self._beat(pause, work))))
        try:
            yield
        except asyncio.CancelledError:
            self.cancelled = True
            if self._over:
                raise AttemptOver from None
            raise
        finally:
            due.cancel()
            for beat in beats:
                beat.cancel()

    async def _beat(self, pause: float, work: asyncio.Task[Any] | None) -> None:
        while True:
            if not self._awaits_mark:
                activity.heartbeat(*self._details())
            elif await self._has_ended():
                if work is not None:
                    work.cancel()
                return
            await asyncio.sleep(pause)

    async def _has_ended(self) -> bool:
        """Send a beat the mark's own way: does the server no longer count on this attempt?"""
        try:
            await self._record()
        except AttemptOver:
            return True
        except RPCError as error:
            log.warning("no heartbeat for %s: %s; the next one may get through", self.info.activity_id, error)
        return False

    async def fail(self, kind: str, message: str, *, allowed: int, retry: bool, delay: float | None = None) -> NoReturn:
        """End this attempt with an error; it is tried again if `retry` and fewer than `allowed` attempts failed.

        The error's detail is how many attempts there were: each of them may have been charged for.
        """
        self.ledger.failures += 1
        await self._end(kind, message, again=retry and self.ledger.failures < allowed, delay=delay)

    async def come_later(self, kind: str, message: str, *, allowed: int, delay: float) -> NoReturn:
        """End this attempt, which came too early, and no failure of the step until `allowed` of them did so."""
        self.ledger.refusals += 1
        await self._end(kind, message, again=self.ledger.refusals < allowed, delay=delay)

    async def pass_on(self, kind: str, message: str) -> None:
        """Let another worker try: while a deploy is under way, one may know what this one does not.

        Returns when `PASSES` attempts had no luck; they count as no failures of the step.
        """
        self.ledger.passed += 1
        if self.ledger.passed < PASSES:
            await self._end(kind, message, again=True, delay=None)

    async def _end(self, kind: str, message: str, *, again: bool, delay: float | None) -> NoReturn:
        if again:
            # The SDK sends what it holds back when an attempt fails: that must not be an older count.
            activity.heartbeat(*self._details())
            await self._record()
        raise ApplicationError(
            message,
            self.info.attempt,
            type=kind,
            non_retryable=not again,
            next_retry_delay=timedelta(seconds=delay) if delay is not None and again else None,
        )


def took(since: float, attempt: int) -> dict[str, float | int]:
    """How long a step took since `since` (by `time.monotonic`), and at which attempt, if not at the first: as kept."""
    seconds = round(time.monotonic() - since, 3)
    return {"seconds": seconds, "attempts": attempt} if attempt > 1 else {"seconds": seconds}


def _ledger(details: list[object]) -> Ledger:
    first = details[0] if details else None
    known = {each.name for each in fields(Ledger)}
    return Ledger(**{k: v for k, v in first.items() if k in known}) if isinstance(first, dict) else Ledger()
