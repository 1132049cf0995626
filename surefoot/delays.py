"""A job that is to begin later, as the server alone tells it: no worker can say anything of it before."""

from datetime import UTC, datetime

from temporalio.client import WorkflowExecutionDescription

from workflows.contracts import JobView
from workflows.showing import AGENT, TAGS, TENANT

NOTHING_BUT_STARTED = 1
"""Events of a run to which nothing has happened yet; a signal lets it begin at once."""


def not_begun(description: WorkflowExecutionDescription) -> JobView | None:
    """How a job stands that waits for its time; None for one that has begun."""
    begins, now = description.execution_time, datetime.now(UTC)
    if begins is None or begins <= now or description.history_length > NOTHING_BUT_STARTED:
        return None
    found = description.typed_search_attributes
    return JobView(
        job=description.id,
        agent=found.get(AGENT) or "?",
        state="running",
        tenant=found.get(TENANT),
        tags=list(found.get(TAGS) or ()),
        begins_at=begins,
    )
