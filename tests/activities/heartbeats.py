"""The server's side of heartbeats, for tests of activities without one: keeps what was sent, and answers as told."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

UNREACHED = RPCError("no server", RPCStatusCode.UNAVAILABLE, b"")
UNKNOWN_ATTEMPT = RPCError("no such attempt", RPCStatusCode.NOT_FOUND, b"")
CANCELLED = AsyncActivityCancelledError()


class Server:
    """Takes heartbeats: `beats` by the attempt's own handle, `held_back` those given to the SDK, `shown` beside either.

    The first answers to `beats` are those of `answers`, None being "taken"; later ones are all taken.
    """

    def __init__(self, *answers: Exception | None, delay: float = 0.0) -> None:
        self.beats: list[dict[str, Any]] = []
        self.held_back: list[dict[str, Any]] = []
        self.shown: list[Any] = []
        self.under_way = self.at_once = 0
        self._answers, self._delay = list(answers), delay

    def get_async_activity_handle(self, *, task_token: bytes) -> "Server":
        return self

    async def heartbeat(self, details: dict[str, Any], *shown: Any) -> None:
        self.under_way += 1
        self.at_once = max(self.at_once, self.under_way)
        await asyncio.sleep(self._delay)
        self.under_way -= 1
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer
        self.beats.append(details)
        self.shown += shown

    def hold_back(self, details: dict[str, Any], *shown: Any) -> None:
        self.held_back.append(details)
        self.shown += shown


def environment(
    server: Server, *, attempt: int = 1, left: Sequence[object] = (), heartbeat: float = 30.0
) -> ActivityEnvironment:
    """The surroundings of attempt number `attempt`, to which an earlier one left these heartbeat details."""
    env = ActivityEnvironment(client=cast(Client, server))
    env.info = replace(
        ActivityEnvironment.default_info(),
        attempt=attempt,
        heartbeat_details=list(left),
        heartbeat_timeout=timedelta(seconds=heartbeat),
        workflow_id="job-1",
    )
    env.on_heartbeat = server.hold_back
    return env
