"""The lines of a batch, one part at a time, from where the server keeps them: the first event of each part's history.

No worker need answer for that, and only one part is held, however many lines there are.
"""

from collections.abc import Sequence

from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from workflows.batches.contracts import BatchFound, BatchLine, BatchLines, LookForBatch, PartRef
from workflows.labels import BATCH_WORKFLOW


async def read_part(client: Client, part: str) -> list[BatchLine]:
    """The lines that the `BatchPart` of this id was started with, whether or not it has ended."""
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace, execution=WorkflowExecution(workflow_id=part), maximum_page_size=1
    )
    answer = await client.workflow_service.get_workflow_execution_history(request)
    sent = answer.history.events[0].workflow_execution_started_event_attributes.input.payloads
    (lines,) = await client.data_converter.decode(sent, [BatchLines])
    assert isinstance(lines, BatchLines)
    return lines.lines


@activity.defn
async def look_for_batch(request: LookForBatch) -> BatchFound:
    """Whether a batch runs: if not, nobody needs its lines to be kept any longer, nor its jobs to be held."""
    try:
        description = await activity.client().get_workflow_handle(request.batch).describe()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return BatchFound(runs=False)
    is_one = description.workflow_type == (request.kind or BATCH_WORKFLOW)
    return BatchFound(runs=is_one and description.status == WorkflowExecutionStatus.RUNNING)


class Lines:
    """The lines of these parts, in their order, by their place from 0."""

    def __init__(self, client: Client, parts: Sequence[PartRef]) -> None:
        self._client, self._parts = client, parts
        self._start, self._held, self._lines = 0, "", list[BatchLine]()

    @property
    def total(self) -> int:
        return sum(part.lines for part in self._parts)

    async def read(self, start: int, most: int) -> list[BatchLine]:
        """At most so many lines from place `start` on, all of one part; none behind the last."""
        at = 0
        for part in self._parts:
            if start < at + part.lines:
                if self._held != part.id:
                    self._held, self._lines = part.id, await read_part(self._client, part.id)
                return self._lines[start - at : start - at + most]
            at += part.lines
        return []
