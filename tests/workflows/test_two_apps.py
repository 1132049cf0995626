"""While a deploy is under way, workers with different agents and tools serve one queue."""

from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.payloads import data_converter
from activities.providers.scripted import Script
from tests.conftest import QUICK, Host, hosts
from tests.waiting import until
from tests.workflows.gated import Ledger, ended, results, started
from tests.workflows.scripting import call

pytestmark = pytest.mark.cold

JOBS = 3
PATIENT = replace(QUICK, retry_seconds=0.3)


@pytest.fixture
async def other(temporal: Temporal, request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    """A second worker process, as far as the server can tell: one on a connection of its own."""
    address = temporal.service_client.config.target_host
    return hosts(await Temporal.connect(address, data_converter=data_converter()), request.node.name, tmp_path)


async def test_jobs_of_an_agent_that_only_one_worker_has_all_end(host: Host, other: Host) -> None:
    def reply(_request: object) -> dict[str, object]:
        return {"text": "done"}

    new, old = Agent("new", Script(reply)), Agent("old", Script(reply))
    quick = replace(QUICK, model_attempts=20)
    async with host(new, settings=quick) as client, other(old, settings=quick):
        jobs = [await client.start(name, "go") for name in ("new", "old") * JOBS]
        ends = [(await job.outcome()).status for job in jobs]

    assert ends == ["complete"] * 2 * JOBS


async def test_a_call_of_a_tool_that_one_worker_does_not_have_waits_for_one_that_does(host: Host) -> None:
    ledger = Ledger()
    script = Script([{"text": "I must", "calls": [call("save", key="a")]}, {"text": "done"}])
    async with host(Agent("w", script, tools=[ledger.tool()]), settings=PATIENT) as client:
        job, (pending,) = await started(client, "w")
    async with host(Agent("w", script, tools=[]), settings=PATIENT) as client:
        await job.approve(pending.call, by="ann")

        async def attempts() -> list[int]:
            described = await client.temporal.get_workflow_handle(job.id).describe()
            return [each.attempt for each in described.raw_description.pending_activities]

        await until(attempts, lambda seen: bool(seen) and seen[0] > 1)
    async with host(Agent("w", script, tools=[ledger.tool()]), settings=PATIENT):
        await ended(job)
        (result,) = results(await job.transcript())

    assert (result.status, result.content) == ("ok", "save a done")
    assert ledger.written == ["save a"]
