"""The activities that are under way, so that a cancelled job can see what was still running.

Each is shielded from the job's own cancellation: a write that has begun gets a moment to end.
"""

import asyncio
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow

from workflows.contracts import CallState, ToolReply

T = TypeVar("T")
CANCEL_GRACE = timedelta(seconds=5)


class Flight:
    """Handles of activities, each with the call that it executes (None: a model call)."""

    def __init__(self) -> None:
        self._handles: dict[workflow.ActivityHandle[ToolReply], CallState | None] = {}

    def __bool__(self) -> bool:
        return bool(self._handles)

    async def land(self, handle: "workflow.ActivityHandle[T]", call: CallState | None = None) -> T:
        """The activity's result, or what it raised. Cancelled, it leaves the handle for `recall`."""
        self._handles[handle] = call  # type: ignore[index]
        try:
            result = await asyncio.shield(handle)
        except asyncio.CancelledError:
            raise
        except BaseException:
            del self._handles[handle]  # type: ignore[arg-type]
            raise
        del self._handles[handle]  # type: ignore[arg-type]
        return result

    async def recall(self) -> list[tuple[CallState | None, ToolReply | None]]:
        """Cancel all that is under way, after a moment for writes: each call, with its reply if it has ended well."""
        writes = [h for h, call in self._handles.items() if call is not None and call.plan.kind == "write"]
        if writes:
            await workflow.wait(writes, timeout=CANCEL_GRACE.total_seconds())
        ends: list[tuple[CallState | None, ToolReply | None]] = []
        for handle, call in self._handles.items():
            if call is not None and handle.done() and not handle.cancelled() and handle.exception() is None:
                ends.append((call, handle.result()))
                continue
            handle.cancel()
            ends.append((call, None))
        return ends
