"""A job's side of the named queue that it was started in: it waits for its place there, and leaves it at its end.

The time until it begins counts against none of its limits, and a person's stop ends the waiting.
"""

import asyncio
from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import policies, steps
from workflows.contracts import JobState
from workflows.desk import Desk
from workflows.queues.contracts import EnterQueue, queue_id


async def enter(state: JobState, desk: Desk) -> str | None:
    """Wait until the job may begin, if it was started in a queue; why it can't, if so."""
    place = state.queue
    if place is None or place.begun:
        return None
    order = EnterQueue(queue=place.name, **({"batch": state.batch.batch} if state.batch is not None else {}))
    await workflow.execute_activity(steps.enter_queue, order, **policies.SEARCH)
    await workflow.wait_condition(
        lambda: place.begun or place.refusal is not None or state.stop_by is not None  # by signals
    )
    place.begun = place.refusal is None
    desk.show()
    return place.refusal


async def leave(state: JobState) -> None:
    """Give the place to the next one."""
    if state.queue is None:
        return
    info = workflow.info()
    queue = workflow.get_external_workflow_handle(queue_id(info.task_queue, state.queue.name))
    with suppress(FailureError, asyncio.CancelledError):  # there may be none: no worker may know a queue of this name
        await queue.signal("left", info.workflow_id)
