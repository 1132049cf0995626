"""What tools say of the calls that wait for a person, asked for while the person may already decide."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import failures, policies, steps
from workflows.contracts import AgentSpec, CallState, DescribeCall, JobState
from workflows.desk import Desk
from workflows.sizes import TASK_BYTES, size_of


class Previews:
    """The previews under way. Nobody needs one once its call is decided, so none may hold up a job."""

    def __init__(self, state: JobState, spec: AgentSpec, desk: Desk) -> None:
        self._state, self._spec, self._desk = state, spec, desk
        # No set: in what order tasks are cancelled must be the same in a replay.
        self._tasks: list[asyncio.Task[None]] = []
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, call: CallState) -> None:
        if not call.plan.has_preview or call.preview is not None:
            return
        self._bytes += size_of(call)
        if self._bytes > TASK_BYTES:
            call.preview = "(no preview: the arguments of this turn are too large)"
            return
        task = asyncio.create_task(self._preview(call))
        self._tasks.append(task)
        task.add_done_callback(self._ended)

    async def end(self) -> None:
        """Cancel those that are still under way."""
        for task in self._tasks:
            task.cancel()
        await workflow.wait_condition(lambda: not self._tasks)
        self._bytes = 0

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.remove(task)
        if not self._tasks:  # the lists get them together: each time they are written costs history
            self._desk.show()

    async def _preview(self, call: CallState) -> None:
        request = DescribeCall(
            agent=self._state.agent, call=call.call.id, tool=call.call.tool, arguments=call.arguments
        )
        try:
            described = await workflow.execute_activity(steps.describe_call, request, **policies.preview(self._spec))
            call.preview = described.preview or ""
        except ActivityError as error:
            if is_cancelled_exception(error):
                return
            call.preview = f"(no preview: {failures.reason(error)})"
