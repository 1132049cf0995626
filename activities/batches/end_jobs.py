"""Stops, or cancels, the jobs of a batch that run, and takes those out that wait in a named queue.

A job that was begun a moment ago may not be on the server's list yet, so the list is looked at until it is quiet.
"""

import asyncio
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from activities.batches.jobs import QUEUED, running
from workflows.batches.contracts import EndJobs
from workflows.showing import PHASE

LOOK_SECONDS = 1.0
PASSES = 3
"""How many looks in a row must find no other job."""


@activity.defn
async def end_jobs(request: EndJobs) -> None:
    client, told, quiet = activity.client(), set[str](), 0
    while quiet < PASSES:
        which = QUEUED if request.how == "finish" else None
        new = [run.id async for run in running(client, request.batch, which) if run.id not in told]
        for job in new:
            activity.heartbeat()
            await _end(client, job, request)
            told.add(job)
        quiet = 0 if new else quiet + 1
        activity.heartbeat()
        await asyncio.sleep(LOOK_SECONDS)


async def _end(client: Client, job: str, request: EndJobs) -> None:
    handle = client.get_workflow_handle(job)
    try:
        # One that waits in a named queue has begun nothing that it could sum up.
        if request.how == "cancel" or await _is_queued(handle):
            await handle.signal("cancelled_by", f"batch {request.batch}")
            await handle.cancel()
        elif request.how == "stop":
            await handle.signal("stop", f"batch {request.batch}")
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # it has ended by itself
            raise


async def _is_queued(handle: WorkflowHandle[Any, Any]) -> bool:
    """By what the server knows of the job itself: its lists are late."""
    return (await handle.describe()).typed_search_attributes.get(PHASE) == "queued"
