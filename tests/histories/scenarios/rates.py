"""Jobs whose model calls wait for a rate."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from activities.rates.rate import Rate
from surefoot.client import Client
from surefoot.job import Job
from tests.histories.cast import RATE, TOKEN_RATE
from tests.histories.scenario import ended, scenario
from tests.waiting import until
from workflows.rates.contracts import RateState

LITTLE = timedelta(seconds=2)


@scenario()
async def rated(client: Client) -> Job:
    """A job that the provider refuses once, which makes the calls of all jobs slower."""
    job = await ended(await client.start("rated", "go"))
    await until(lambda: _told(client, RATE), lambda rate: rate is not None)
    return job


@scenario()
async def rated_by_tokens(client: Client) -> Job:
    """What the answers used sets the rate; when no more calls are made, it is taken back."""
    with patch("activities.rates.meter.REPORT_SECONDS", 0.1), patch("workflows.rates.model_rate.REST", LITTLE):
        job = await ended(await client.start("measured", "go"))
        await until(lambda: _told(client, TOKEN_RATE), lambda rate: rate is not None)
        await _keeper(client, TOKEN_RATE).result()
    return job


def _keeper(client: Client, rate: Rate) -> WorkflowHandle[Any, Any]:
    return client.temporal.get_workflow_handle(f"rate/{client.task_queue}/{rate.name}")


async def _told(client: Client, rate: Rate) -> float | None:
    """What the rate's keeper told the server."""
    try:
        state: RateState = await _keeper(client, rate).query("state", result_type=RateState)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return None
    return state.set_to
