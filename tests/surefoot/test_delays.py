"""Jobs that begin later: seen before they do, and run when their time has come."""

from datetime import UTC, datetime, timedelta

from activities.agents import Agent
from activities.providers.script import Script
from tests.conftest import Host

WORKER = Agent("worker", Script([{"text": "done"}]))


async def test_a_job_that_has_not_begun_says_when_it_will_and_needs_no_worker_for_that(host: Host) -> None:
    async with host() as client:
        before = datetime.now(UTC)
        job = await client.start("worker", "go", tenant="acme", tags=["late"], delay=timedelta(hours=1))
        view = await job.view()
        await job.cancel(by="Ana")

        assert (view.agent, view.state, view.tenant, view.tags) == ("worker", "running", "acme", ["late"])
        assert view.begins_at is not None
        assert timedelta(minutes=59) < view.begins_at - before < timedelta(minutes=61)


async def test_a_delayed_job_runs_when_its_time_has_come(host: Host) -> None:
    async with host(WORKER) as client:
        job = await client.start("worker", "go", delay=timedelta(seconds=1))
        outcome = await job.outcome()

        assert outcome.answer == "done"
        assert (await job.view()).begins_at is None
