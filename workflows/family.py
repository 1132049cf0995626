"""The jobs that other agents do for calls of this one, as child workflows: started, waited for, and charged.

The job's main task never awaits a child itself, so cancelling it leaves the children to `recall`, which sees how they
end. While one is under way this job's clock stands still: what its children worked is added when the last has ended.
"""

import asyncio
from contextlib import suppress

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, ChildWorkflowError, FailureError
from temporalio.workflow import ChildWorkflowCancellationType, ChildWorkflowHandle, ParentClosePolicy

from workflows import flight, labels, words
from workflows.contracts import CallState, ChildJob, Errand, JobEnd, JobStart, JobState, Status, ToolReply, Usage
from workflows.limits import Allowance

ID_BYTES = 1000
"""The longest id of a workflow: to start one under a longer id would fail the job's task for ever."""

CHILDREN_KEPT = 100

Child = ChildWorkflowHandle[object, JobEnd]


class Family:
    """The children of the job in `state`; true while any is under way."""

    def __init__(self, state: JobState, allowance: Allowance) -> None:
        self._state, self._allowance = state, allowance
        # No set: in what order children are looked at must be the same in a replay.
        self._under_way: dict[str, tuple[CallState, asyncio.Task[ToolReply]]] = {}
        self._running = 0
        self._longest = 0.0
        self._recalled = False

    def __bool__(self) -> bool:
        return bool(self._under_way)

    async def work(self, call: CallState, errand: Errand, beside: int) -> ToolReply:
        """What the child came to that does the call; `beside` children in all divide what is left of the limits.

        Cancelled, it leaves the child for `recall`.
        """
        task = asyncio.create_task(self._work(call, errand, beside))
        self._under_way[call.call.id] = call, task
        reply = await asyncio.shield(task)
        del self._under_way[call.call.id]
        return reply

    async def recall(self) -> list[tuple[CallState, ToolReply]]:
        """Cancel every child, and see for a while how they end."""
        self._recalled = True
        ends = [(call, await task) for call, task in self._under_way.values()]
        self._under_way = {}
        return ends

    async def _work(self, call: CallState, errand: Errand, beside: int) -> ToolReply:
        if self._recalled or self._state.stop_by is not None:
            return _not_started(errand, "the job that asks is being ended")
        id_ = f"{workflow.info().workflow_id}.{call.call.id}"
        if len(id_.encode()) > ID_BYTES:
            return _not_started(errand, f"its id would have {len(id_.encode())} bytes, at most {ID_BYTES} are possible")
        self._clock_in()
        try:
            child = await self._start(id_, errand, beside)
        except FailureError as error:
            self._clock_out(0.0)  # in no `finally`: a run that is evicted has no clock any more
            return _not_started(errand, str(error))
        self._note(ChildJob(job=id_, agent=errand.agent, call=call.call.id))
        await self._until_ended(child)
        end, why = _end_of(child)
        self._clock_out(end.carry.overall.seconds if end is not None else 0.0)
        return self._charged(id_, errand, end, why)

    async def _start(self, id_: str, errand: Errand, beside: int) -> Child:
        """Returns once the server has started it. Raises `FailureError`, for one if the id is taken."""
        state, job = self._state, workflow.info().workflow_id
        still_to_run = sum(each.phase != "done" for each in state.calls)
        start = JobStart(
            agent=errand.agent,
            message=errand.message,
            by=state.by,
            tenant=state.tenant,
            tags=state.tags,
            parent=job,
            root=state.root or job,
            lent=self._allowance.share(beside, still_to_run),
        )
        return await workflow.start_child_workflow(
            labels.WORKFLOW,
            start,
            id=id_,
            result_type=JobEnd,
            parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            cancellation_type=ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            task_timeout=workflow.info().task_timeout,
            memo={**labels.memo(start, workflow.now()), "print": f"errand of {job}"},
            search_attributes=labels.search_attributes(start),
            static_summary=labels.summary(start),
        )

    async def _until_ended(self, child: Child) -> None:
        """Wait, and pass on a stop and a cancellation; after the latter not for ever."""
        await workflow.wait_condition(lambda: child.done() or self._recalled or self._state.stop_by is not None)
        if not child.done() and not self._recalled:
            with suppress(FailureError):  # it has ended meanwhile
                await child.signal("stop", self._state.stop_by)
            await workflow.wait_condition(lambda: child.done() or self._recalled)
        if not child.done():
            with suppress(FailureError):
                await child.signal("cancelled_by", f"job {workflow.info().workflow_id}")
            child.cancel()
            with suppress(TimeoutError):
                await workflow.wait_condition(child.done, timeout=2 * flight.CANCEL_GRACE)

    def _charged(self, id_: str, errand: Errand, end: JobEnd | None, why: str) -> ToolReply:
        """Charge what the child spent, however it ended, and say what it came to."""
        if end is None:
            self._allowance.spend(Usage(unmeasured=1))
            self._ended(id_, "cancelled" if self._recalled else "failed")
            return ToolReply(status="error", content=words.CHILD_LOST.format(agent=errand.agent, job=id_, why=why))
        self._allowance.spend(end.outcome.usage)
        self._ended(id_, end.outcome.status)
        status, text = words.child_said(end.outcome, errand, id_)
        return ToolReply(status=status, content=text, seconds=round(end.carry.overall.seconds, 3))

    def _clock_in(self) -> None:
        if not self._running:
            self._allowance.stop_clock(workflow.now())
            self._longest = 0.0
        self._running += 1

    def _clock_out(self, seconds: float) -> None:
        """Side by side the longest counts, as it would for a single job: waiting for people is in none of them."""
        self._running -= 1
        self._longest = max(self._longest, seconds)
        if not self._running:
            self._allowance.spend_seconds(self._longest)
            self._allowance.start_clock(workflow.now())

    def _note(self, child: ChildJob) -> None:
        self._state.children = [*self._state.children, child][-CHILDREN_KEPT:]

    def _ended(self, id_: str, status: Status) -> None:
        self._state.children = [
            child.model_copy(update={"status": status}) if child.job == id_ else child for child in self._state.children
        ]


def _not_started(errand: Errand, why: str) -> ToolReply:
    return ToolReply(status="error", content=words.CHILD_NOT_STARTED.format(agent=errand.agent, why=why))


def _end_of(child: Child) -> tuple[JobEnd | None, str]:
    """How a child ended; None with the reason if nobody can tell."""
    if not child.done():
        return None, "it was cancelled, and has not ended yet"
    try:
        return child.result(), ""
    except ChildWorkflowError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError) and cause.details:
            with suppress(ValidationError):
                return JobEnd.model_validate(cause.details[0]), ""
        return None, str(cause or error)
