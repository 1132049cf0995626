"""A job's side of the named queue that it was started in: it waits for its place there, and leaves it at its end.

The time until it begins counts against none of its limits, and a person's stop ends the waiting. Whoever ends a queue's
workflow makes it forget who waits; so those that wait enter again from time to time, which changes nothing otherwise.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

from workflows import failures, policies, steps
from workflows.contracts import JobState, QueuePlace
from workflows.desk import Desk
from workflows.queues.contracts import EnteredQueue, EnterQueue, queue_id

GONE = "DefinitionError"
"""No app file has the queue, and its workflow is not there either."""

RAREST = timedelta(hours=4)


async def enter(state: JobState, desk: Desk) -> str | None:
    """Wait until the job may begin, if it was started in a queue; why it can't, if so."""
    place = state.queue
    if place is None or place.begun:
        return None
    order = EnterQueue(queue=place.name, **({"batch": state.batch.batch} if state.batch is not None else {}))
    entered = await _entered(order)
    # In histories from before it was told nothing is done again.
    pause = timedelta(seconds=entered.again_after) if entered is not None else None
    while not await _answered(state, place, pause):
        await _enter_again(order.model_copy(update={"again": True}))
        pause = min(pause * 2, RAREST) if pause is not None else None
    place.begun = place.refusal is None
    desk.show()
    return place.refusal


async def _entered(order: EnterQueue) -> EnteredQueue | None:
    return await workflow.execute_activity(steps.enter_queue, order, **policies.SEARCH)


async def _enter_again(order: EnterQueue) -> None:
    try:
        await _entered(order)
    except ActivityError as error:
        if is_cancelled_exception(error) or (isinstance(error.cause, ApplicationError) and error.cause.type == GONE):
            raise
        workflow.logger.warning("queue %s could not be entered again: %s", order.queue, failures.reason(error))


async def _answered(state: JobState, place: QueuePlace, most: timedelta | None) -> bool:
    """Whether it may begin, or not at all, or was stopped, within that time."""
    with suppress(asyncio.TimeoutError):
        await workflow.wait_condition(
            lambda: place.begun or place.refusal is not None or state.stop_by is not None,  # by signals
            timeout=most,
        )
        return True
    return False


async def leave(state: JobState) -> None:
    """Give the place to the next one."""
    if state.queue is None:
        return
    info = workflow.info()
    queue = workflow.get_external_workflow_handle(queue_id(info.task_queue, state.queue.name))
    with suppress(FailureError, asyncio.CancelledError):  # there may be none: no worker may know a queue of this name
        await queue.signal("left", info.workflow_id)
