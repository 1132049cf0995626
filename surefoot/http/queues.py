"""Named queues: how they stand, and changing how their jobs begin. Jobs enter one by `queue` of what starts them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from surefoot.http.answers import QueueList, QueueRef
from surefoot.http.jobs import Jobs, Submitter, Viewer, client_of
from surefoot.http.paths import QUEUE
from surefoot.http.problems import PROBLEMS
from surefoot.http.schedule_requests import PauseQueue, SetQueue
from surefoot.queues import NamedQueue, QueueView

router = APIRouter(prefix="/queues", tags=["queues"], responses=PROBLEMS)


def queue_of(queue: str, request: Request) -> NamedQueue:
    """The queue that the path names."""
    return client_of(request).queues[queue]


TheQueue = Annotated[NamedQueue, Depends(queue_of)]


@router.get("")
async def list_queues(_: Viewer, client: Jobs) -> QueueList:
    """All queues that a job was started in, by name."""
    return QueueList(queues=await client.queues.list())


@router.get(f"/{QUEUE}")
async def show_queue(_: Viewer, queue: TheQueue) -> QueueView:
    """How a queue stands. Counts may be some seconds late."""
    return await queue.view()


@router.patch(f"/{QUEUE}", status_code=202)
async def set_queue(person: Submitter, queue: TheQueue, sent: SetQueue) -> QueueRef:
    """Change the numbers that are named, until the app file says others than it does now."""
    await queue.set(by=person.name, concurrency=sent.concurrency, rate=sent.rate)
    return QueueRef(queue=queue.name)


@router.post(f"/{QUEUE}/pause", status_code=202)
async def pause_queue(person: Submitter, queue: TheQueue, sent: PauseQueue | None = None) -> QueueRef:
    """Let no more jobs begin; those that run go on."""
    await queue.pause(by=person.name, reason=(sent or PauseQueue()).reason)
    return QueueRef(queue=queue.name)


@router.post(f"/{QUEUE}/resume", status_code=202)
async def resume_queue(person: Submitter, queue: TheQueue) -> QueueRef:
    """Let jobs begin again."""
    await queue.resume(by=person.name)
    return QueueRef(queue=queue.name)
