"""When a job stands still and when it moves on: pauses, waiting for people, and new runs for a long history.

A run may be left only where nothing is under way: everything else is in `JobState`, and the next run enters there.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow

from workflows.contracts import JobState, Status
from workflows.deadlines import Deadlines
from workflows.desk import Desk
from workflows.limits import Allowance


class Pace:
    """Holds the loop between two steps. `busy` are what must be empty before a run is left."""

    def __init__(self, state: JobState, allowance: Allowance, desk: Desk, deadlines: Deadlines, *busy: object) -> None:
        self._state, self._allowance, self._desk, self._deadlines = state, allowance, desk, deadlines
        self._busy = busy

    async def hold(self) -> None:
        """Wait while the job is paused, and go on in a new run when this one's history is long."""
        if self._state.paused and not self._state.stop_by:
            await self.wait(lambda: not self._state.paused or self._state.stop_by is not None)
        elif self._may_move():
            self._allowance.tick(workflow.now())
            await self._desk.continue_as_new()

    async def wait(self, ready: Callable[[], bool]) -> None:
        """Wait for people: the clock stands still, and the history may start anew."""
        self._allowance.stop_clock(workflow.now())
        self._desk.show()
        while not ready():
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: ready() or self._may_move(), timeout=self._next())
            self._deadlines.pass_by(workflow.now())
            self._desk.show()
            if not ready() and self._may_move():
                await self._desk.continue_as_new()
        self._allowance.start_clock(workflow.now())
        self._desk.show()

    def _next(self) -> timedelta | None:
        """How long nothing happens by itself."""
        adoption, deadline = self._desk.adoption_due(), self._deadlines.next()
        left = [adoption] if adoption is not None else []
        if deadline is not None:
            left.append(max(deadline - workflow.now(), timedelta(0)))
        return min(left, default=None)

    def _may_move(self) -> bool:
        return self._desk.history_is_long() and not any(self._busy)

    def stopped(self) -> Status | None:
        """Why nothing more of the open turn may run, looked at before every step."""
        if self._state.stop_by is not None:
            return "cancelled"
        if self._state.closing == "tool_failure":
            return "tool_failure"
        return self._allowance.reached(workflow.now())
