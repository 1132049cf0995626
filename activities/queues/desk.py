"""The activities of named queues: a job enters one, a batch holds its jobs there, and a queue sees which of
its jobs still hold their places.

Entering twice, after a crash, changes nothing: the queue knows its jobs by their ids.
"""

import asyncio
from collections.abc import Mapping

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from activities.queues.queue import Queue, queue_named
from workflows import labels
from workflows.queues.contracts import (
    JOB_QUEUE,
    EnteredQueue,
    EnterQueue,
    HoldBatch,
    HoldInQueue,
    LookAtQueue,
    QueueEntry,
    QueueSeen,
    QueueState,
    queue_id,
    queue_memo,
)
from workflows.showing import PHASE, QUEUE

AT_ONCE = 20
"""How many jobs are looked at together."""

AGAIN = 900.0
"""Seconds after which a job that waits makes sure for the first time that its queue is there."""


class QueueDesk:
    """The named queues of one app."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues

    @activity.defn
    async def enter_queue(self, request: EnterQueue) -> EnteredQueue:
        if request.again and request.queue not in self._queues and await _runs(request.queue):
            return EnteredQueue(again_after=AGAIN)  # with the numbers that it has
        queue = queue_named(self._queues, request.queue)
        batch = {"batch": request.batch} if request.batch is not None else {}
        entry = QueueEntry(job=activity.info().workflow_id or "", terms=queue.terms, **batch)
        await _start_or_tell(queue, "enter", entry)
        return EnteredQueue(again_after=AGAIN)

    @activity.defn
    async def hold_in_queue(self, order: HoldInQueue) -> None:
        """A queue that no job has entered yet is started, so that it knows of the hold when the first one comes."""
        if (queue := self._queues.get(order.queue)) is not None:
            await _start_or_tell(queue, "hold_batch", order.word)
            return
        id = queue_id(activity.info().task_queue, order.queue)
        try:
            await activity.client().get_workflow_handle(id).signal("hold_batch", order.word)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # no app file has it: no job can begin in it either
                raise

    @activity.defn
    async def look_at_queue(self, request: LookAtQueue) -> QueueSeen:
        """Which jobs take a place: those that were let in and work, and those that had waited and go on."""
        client, task_queue = activity.client(), activity.info().task_queue
        queue = self._queues.get(request.queue)
        listed = (
            f"WorkflowType = '{labels.WORKFLOW}' AND TaskQueue = '{task_queue}' AND {QUEUE.name} = '{request.queue}'"
            f" AND ExecutionStatus = 'Running' AND {PHASE.name} = 'running'"
        )
        jobs = dict.fromkeys(request.places) | {run.id: None async for run in client.list_workflows(listed)}
        places = asyncio.Semaphore(AT_ONCE)

        async def works(job: str) -> bool:
            async with places:
                return await _works(client, job)

        working = await asyncio.gather(*(works(job) for job in jobs))
        return QueueSeen(
            places=[job for job, yes in zip(jobs, working, strict=True) if yes],
            **({"terms": queue.terms} if queue is not None else {}),
        )


async def _runs(queue: str) -> bool:
    """Whether a queue of this name is there to wait in."""
    id = queue_id(activity.info().task_queue, queue)
    try:
        return (await activity.client().get_workflow_handle(id).describe()).status == WorkflowExecutionStatus.RUNNING
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False


async def _start_or_tell(queue: Queue, signal: str, word: QueueEntry | HoldBatch) -> None:
    task_queue = activity.info().task_queue
    state = QueueState(name=queue.name, terms=queue.terms, said=queue.terms, looks_for_held=True)
    await activity.client().start_workflow(
        JOB_QUEUE,
        state,
        id=queue_id(task_queue, queue.name),
        task_queue=task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        memo=dict(queue_memo(state)),
        start_signal=signal,
        start_signal_args=[word],
    )


async def _works(client: Client, job: str) -> bool:
    """Whether the job runs and waits for nobody, by what the server knows of itself: visibility is late."""
    try:
        description = await client.get_workflow_handle(job).describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return False
        raise
    phase = description.typed_search_attributes.get(PHASE)
    # One that was let in just now may not have done its first step yet.
    return description.status == WorkflowExecutionStatus.RUNNING and phase in ("running", "queued")
