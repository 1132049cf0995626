"""How the last run of a job ended, and what a reply goes on from.

A run that was ended from outside (terminated, timed out) left no result: what it had done is then asked of a worker,
which replays it.
"""

from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import Client as Temporal
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.common import Priority
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from surefoot.asking import ask
from surefoot.describing import describe
from surefoot.errors import JobRunning, NoWorker
from surefoot.rpc import reaching
from surefoot.texts import quoted
from workflows.contracts import JobEnd, JobState, Outcome

NEVER_RAN = "closed before WorkflowTaskStarted"
"""What the server says of a run that was ended from outside before a worker had seen it: it had done nothing."""

ANSWER_WITHIN = timedelta(seconds=10)
"""How long a worker may take to answer a query or an update before it counts as absent."""


@dataclass(frozen=True)
class Ended:
    """The end of a job's last run, and what a reply needs to know of it."""

    outcome: Outcome
    carry: JobState
    task_queue: str
    memo: dict[str, str]
    """What the next run's memo takes over: the print of the input, and when the job was started."""
    priority: Priority
    """What the next run is to come before and behind: the same as this one."""


async def fetch_end(temporal: Temporal, job: str, *, answer_within: timedelta = ANSWER_WITHIN) -> Ended:
    """How the last run of a job ended. Raises `JobRunning` if it has not, `NoSuchJob`, `NoWorker`, `Unreadable`."""
    description = await describe(temporal, job)
    with reaching(job):
        if description.status == WorkflowExecutionStatus.RUNNING:
            raise JobRunning(f"job {job} has not ended; steering reaches it", f": surefoot steer {quoted(job)} TEXT")
        handle = temporal.get_workflow_handle(job, run_id=description.run_id, result_type=JobEnd)
        try:
            end: JobEnd = await handle.result(follow_runs=False)
        except WorkflowFailureError as error:
            end = await _end_of_failure(temporal, description, error, answer_within)
        started = await description.memo_value("started", description.start_time.isoformat(), type_hint=str)
        memo = {"print": await description.memo_value("print", "", type_hint=str), "started": started}
    return Ended(end.outcome, end.carry, description.task_queue, memo, _priority_of(description))


def _priority_of(description: WorkflowExecutionDescription) -> Priority:
    raw = description.raw_description.workflow_execution_info.priority
    return Priority(raw.priority_key or None, raw.fairness_key or None, raw.fairness_weight or None)


async def _end_of_failure(
    temporal: Temporal, description: WorkflowExecutionDescription, error: WorkflowFailureError, answer_within: timedelta
) -> JobEnd:
    """A run without a result: failed with its end in the error, or ended from outside."""
    cause, job = error.cause, description.id
    if isinstance(cause, ApplicationError) and cause.details:
        return JobEnd.model_validate(cause.details[0])
    text = f"the run ended as {description.status.name if description.status else 'unknown'}: {cause}"
    carry = JobState(agent=await description.memo_value("agent", "?"))
    if not (isinstance(cause, ApplicationError) and cause.type == "BadStart"):
        handle = temporal.get_workflow_handle(job, run_id=description.run_id)
        try:
            carry = await ask(handle, "carry", JobState, answer_within)
        except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError) as failed:
            if NEVER_RAN not in str(failed):
                raise NoWorker(f"job {job}: {text}; a worker must be up to read what it had done ({failed})") from None
    outcome = Outcome(status="failed", error=text, summary=text, requires_human=True, usage=carry.overall.usage)
    return JobEnd(outcome=outcome, carry=carry)
