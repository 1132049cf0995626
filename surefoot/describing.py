"""What the server itself says of a job: asked of it alone, no worker need be up.

Others may have workflows in the same namespace. They are none of ours to look at, to signal or to cancel, so whatever
reaches for a job by its id comes by here first.
"""

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecutionDescription

from surefoot.rpc import no_such_job, reaching
from workflows.labels import WORKFLOW


async def describe(temporal: Temporal, job: str) -> WorkflowExecutionDescription:
    """The job's last run. Raises `NoSuchJob`, also for what is no job."""
    with reaching(job):
        description = await temporal.get_workflow_handle(job).describe()
    if description.workflow_type != WORKFLOW:
        raise no_such_job(job)
    return description
