"""Which workers poll a task queue, as the server sees them; `python -m surefoot.polling` is a worker's health check.

A worker polls anew at least once a minute, even when there is nothing to do, so what the server saw last tells a
worker that works from one that hangs or has lost the server, which no look at the process could.
"""

import asyncio
import socket
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError

from surefoot.cli.output import leave
from surefoot.connection import connect
from surefoot.errors import NoWorker, ServerNotReached, SurefootError
from surefoot.settings import read_settings

FRESH = timedelta(seconds=90)
"""A long poll lasts one minute: who was not seen for longer has stopped polling."""


@dataclass(frozen=True)
class Poller:
    """A worker of a queue. `identity` is `PROCESS@HOST` unless the worker chose another."""

    identity: str
    seen_at: datetime


async def list_pollers(temporal: Temporal, task_queue: str) -> list[Poller]:
    """Workers that asked `task_queue` for workflow tasks within `FRESH`. Raises `ServerNotReached`."""
    request = DescribeTaskQueueRequest(
        namespace=temporal.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        answer = await temporal.workflow_service.describe_task_queue(request)
    except RPCError as error:
        raise ServerNotReached(
            f"the Temporal server does not tell who polls queue {task_queue} in namespace {temporal.namespace}:"
            f" {error.message}; check TEMPORAL_NAMESPACE, or see `surefoot doctor`"
        ) from error
    pollers = [Poller(each.identity, each.last_access_time.ToDatetime(UTC)) for each in answer.pollers]
    return [poller for poller in pollers if datetime.now(UTC) - poller.seen_at < FRESH]


async def check_here(temporal: Temporal, task_queue: str, host: str) -> Poller:
    """The poller that runs on `host`. Raises `NoWorker` if none does, `ServerNotReached`."""
    pollers = await list_pollers(temporal, task_queue)
    for poller in pollers:
        if poller.identity.endswith(f"@{host}"):
            return poller
    others = ", ".join(poller.identity for poller in pollers) or "none"
    raise NoWorker(f"no worker on {host} polls queue {task_queue}; seen: {others}. Look into its log")


async def _check() -> str:
    queue = read_settings().queue()
    poller = await check_here(await connect(), queue, socket.gethostname())
    return f"{poller.identity} polls queue {queue}, seen at {poller.seen_at:%H:%M:%S} UTC"


def main() -> int:
    """0 if a worker on this host polls its queue, else 1 with the reason."""
    try:
        said, code = asyncio.run(_check()), 0
    except SurefootError as error:
        said, code = str(error), 1
    sys.stdout.write(f"{said}\n")
    return code


if __name__ == "__main__":
    leave(main())
