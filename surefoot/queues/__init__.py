"""Named queues from Python: how they stand, and what changes while they run."""

import asyncio

from temporalio.client import Client as Temporal

from surefoot.queues.queue import NamedQueue, QueueView
from surefoot.rpc import reaching
from workflows.queues.contracts import JOB_QUEUE, QueueNote

__all__ = ["NamedQueue", "QueueView", "Queues"]


class Queues:
    """The named queues in which the jobs of `task_queue` were started."""

    def __init__(self, temporal: Temporal, task_queue: str) -> None:
        self._temporal, self._task_queue = temporal, task_queue

    def __getitem__(self, name: str) -> NamedQueue:
        return NamedQueue(self._temporal, self._task_queue, name)

    async def list(self) -> list[QueueView]:
        """All that a job has entered once, by name."""
        names: set[str] = set()
        query = f"WorkflowType = '{JOB_QUEUE}' AND TaskQueue = '{self._task_queue}' AND ExecutionStatus = 'Running'"
        with reaching("?"):
            async for run in self._temporal.list_workflows(query):
                if (note := await run.memo_value("queue", None, type_hint=QueueNote)) is not None:
                    names.add(note.name)
        return list(await asyncio.gather(*(self[name].view() for name in sorted(names))))
