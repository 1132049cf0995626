"""Queries, as often as it takes: a worker that ends with a query in its hands never answers it, and the next one would.

Temporal hands a query to one worker once; whoever asked waits until its own time is over. A query changes nothing,
so it is asked again.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

SHARES = (0.2, 0.3, 0.5)
"""How the time that a worker may take is spread over the tries: the later ones allow for a long replay."""

NO_ANSWER = (RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED)
TOO_MANY = "query buffer is full"
"""What the server says when as many questions as it keeps for one job wait for its worker."""


def wait_in_vain(error: RPCError) -> bool:
    """Whether a job's questions pile up, since its worker does not answer them."""
    return error.status == RPCStatusCode.RESOURCE_EXHAUSTED and TOO_MANY in error.message


async def ask(
    handle: WorkflowHandle[Any, Any], query: str, kind: Any, within: timedelta, arguments: Sequence[Any] = ()
) -> Any:
    """The answer of a job's worker, `within` so much time; raises what the last try raised."""
    for share in SHARES[:-1]:
        try:
            return await handle.query(query, args=list(arguments), result_type=kind, rpc_timeout=within * share)
        except RPCError as error:
            if error.status not in NO_ANSWER and not wait_in_vain(error):
                raise
    return await handle.query(query, args=list(arguments), result_type=kind, rpc_timeout=within * SHARES[-1])
