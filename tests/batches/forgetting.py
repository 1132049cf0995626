"""What a server's retention does to workflows that ended, and people to others: then it knows them no more."""

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from tests.waiting import until


async def forget(temporal: Temporal, id: str) -> None:
    """Let the server forget a workflow."""
    which = WorkflowExecution(workflow_id=id)
    request = DeleteWorkflowExecutionRequest(namespace=temporal.namespace, workflow_execution=which)
    await temporal.workflow_service.delete_workflow_execution(request)

    async def is_gone() -> bool:
        try:
            await temporal.get_workflow_handle(id).describe()
        except RPCError as error:
            return error.status == RPCStatusCode.NOT_FOUND
        return False

    await until(is_gone)
