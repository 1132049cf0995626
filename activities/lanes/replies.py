"""Gives a job what came of the call that it handed in: by a signal, which a job takes once, however often it comes."""

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from workflows.lanes.contracts import LaneLine, LaneReply


async def tell_job(client: Client, line: LaneLine, reply: LaneReply) -> bool:
    """Whether there was a job to tell; it may have ended meanwhile."""
    try:
        await client.get_workflow_handle(line.job).signal("lane_reply", reply)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
