"""When a worker that nobody needs may end itself: no step ran for a while, and no job of its queue is running.

Jobs that wait for people do not count as running: whoever decides brings a worker along.
"""

import asyncio
import logging
import time
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from workflows.showing import PHASE

log = logging.getLogger("surefoot.worker")


class Activity(Interceptor):
    """Notes when a step last ran here, so that a worker that nobody needs can end itself."""

    def __init__(self) -> None:
        self.running = 0
        self.last = time.monotonic()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Noted(next, self)

    def idle_for(self) -> float:
        return 0.0 if self.running else time.monotonic() - self.last


class _Noted(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, noted: Activity) -> None:
        super().__init__(next)
        self._noted = noted

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._noted.running += 1
        try:
            return await super().execute_activity(input)
        finally:
            self._noted.running -= 1
            self._noted.last = time.monotonic()


async def until_idle(client: Client, task_queue: str, noted: Activity, seconds: float) -> None:
    """Return when no step ran for `seconds` and no job of this queue is running (those that wait for people do not)."""
    busy = f"{PHASE.name} IN ('running', 'batched', 'queued')"  # a provider batch is polled by the worker
    running = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running' AND {busy}"
    while True:
        await asyncio.sleep(max(1.0, seconds - noted.idle_for()))
        if noted.idle_for() < seconds:
            continue
        try:
            if (await client.count_workflows(running)).count == 0:
                return
        except RPCError as error:  # a server that is being restarted does not say that nobody needs this worker
            log.warning("no answer to whether jobs are running: %s", error)
