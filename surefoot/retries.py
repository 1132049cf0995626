"""Which steps of a running job have failed and are tried again, as the server sees them.

A job's own state knows nothing of this: to its workflow a step that is retried has merely not ended yet.
"""

from dataclasses import dataclass
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.exceptions import FailureError

from surefoot.rpc import reaching
from workflows.failures import reason

STEPS = {"call_model": "the model call", "run_tool": "a tool call"}


@dataclass(frozen=True)
class Retry:
    """A step on its `attempt`th try, and `why` the one before failed."""

    step: str
    attempt: int
    why: str


async def list_retries(job: WorkflowHandle[Any, Any]) -> list[Retry]:
    """Model and tool calls of a job that are under way again. Raises `NoSuchJob` and `ServerNotReached`."""
    with reaching(job.id):
        description = await job.describe()
    retries: list[Retry] = []
    for each in description.raw_description.pending_activities:
        step = STEPS.get(each.activity_type.name)
        if step is not None and each.attempt > 1 and each.HasField("last_failure"):
            failure = await description.data_converter.decode_failure(each.last_failure)
            why = reason(failure) if isinstance(failure, FailureError) else str(failure)
            retries.append(Retry(step, each.attempt, why))
    return retries
