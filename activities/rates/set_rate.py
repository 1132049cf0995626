"""Tells the server how many tasks of a queue it may hand out in a second, to all workers together.

The server keeps it with the queue, before what workers say of themselves, and holds to it within about a second.
"""

from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import RateLimit
from temporalio.api.workflowservice.v1 import UpdateTaskQueueConfigRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from workflows.rates.contracts import SetRate

IN_VAIN = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.INVALID_ARGUMENT)
"""What the server will say the next time as well."""


@activity.defn
async def set_rate(request: SetRate) -> None:
    client = activity.client()
    try:
        await client.workflow_service.update_task_queue_config(_ordered(client, request))
    except RPCError as error:
        if error.status in IN_VAIN:
            raise ApplicationError(
                f"the server does not take a rate for queue {request.queue} ({error.message}): the limits of the app"
                " file hold, but a refused call slows no other one down",
                type="RateNotSet",
                non_retryable=True,
            ) from None
        raise


def _ordered(client: Client, request: SetRate) -> UpdateTaskQueueConfigRequest:
    update = UpdateTaskQueueConfigRequest.RateLimitUpdate(reason=request.reason)
    if request.per_second is not None:
        update.rate_limit.CopyFrom(RateLimit(requests_per_second=request.per_second))
    return UpdateTaskQueueConfigRequest(
        namespace=client.namespace,
        identity=client.identity,
        task_queue=request.queue,
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        update_queue_rate_limit=update,
    )
