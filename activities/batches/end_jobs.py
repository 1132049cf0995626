"""Stops, or cancels, the jobs of a batch that run.

A job that was begun a moment ago may not be on the server's list yet, so the list is looked at until it is quiet.
"""

import asyncio

from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.batches.jobs import running
from workflows.batches.contracts import EndJobs

LOOK_SECONDS = 1.0
PASSES = 3
"""How many looks in a row must find no other job."""


@activity.defn
async def end_jobs(request: EndJobs) -> None:
    client, told, quiet = activity.client(), set[str](), 0
    while quiet < PASSES:
        new = [run.id async for run in running(client, request.batch) if run.id not in told]
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
        if request.how == "cancel":
            await handle.signal("cancelled_by", f"batch {request.batch}")
            await handle.cancel()
        else:
            await handle.signal("stop", f"batch {request.batch}")
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # it has ended by itself
            raise
