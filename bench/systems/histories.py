"""How long a job's history is: over all runs of it, as the server itself counts."""

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowHistoryEventFilterType

from bench.systems import Recorded


async def recorded(place: str, job: str) -> Recorded:
    client = await Client.connect(place)
    events = size = 0
    run: str | None = await _first_run(client, job)
    while run is not None:
        handle = client.get_workflow_handle(job, run_id=run)
        description = await handle.describe()
        events += description.history_length
        size += description.raw_description.workflow_execution_info.history_size_bytes
        run = await _next_run(handle)
    return Recorded(events, size)


async def _first_run(client: Client, job: str) -> str:
    description = await client.get_workflow_handle(job).describe()
    return description.raw_description.workflow_execution_info.first_run_id


async def _next_run(handle: WorkflowHandle[object, object]) -> str | None:
    closing = WorkflowHistoryEventFilterType.CLOSE_EVENT
    async for event in handle.fetch_history_events(event_filter_type=closing):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
            return event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return None
