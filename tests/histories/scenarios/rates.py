"""Jobs whose model calls wait for a rate."""

from temporalio.service import RPCError, RPCStatusCode

from surefoot.client import Client
from surefoot.job import Job
from tests.histories.cast import RATE
from tests.histories.scenario import ended, scenario
from tests.waiting import until
from workflows.rates.contracts import RateState


@scenario()
async def rated(client: Client) -> Job:
    """A job that the provider refuses once, which makes the calls of all jobs slower."""
    job = await ended(await client.start("rated", "go"))
    await until(lambda: _told(client), lambda rate: rate is not None)
    return job


async def _told(client: Client) -> float | None:
    """What the rate's keeper told the server."""
    try:
        keeper = client.temporal.get_workflow_handle(f"rate/{client.task_queue}/{RATE.name}")
        state: RateState = await keeper.query("state", result_type=RateState)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return None
    return state.set_to
