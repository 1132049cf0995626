"""A job whose rate was taken out of the app does not wait for ever, and a reply goes on with it."""

from datetime import timedelta

import pytest
from temporalio.client import Client as Temporal
from temporalio.worker import UnsandboxedWorkflowRunner

from activities.agents import Agent
from activities.apps import App
from activities.providers.script import Script
from activities.rates.rate import Rate
from surefoot.client import Client
from tests.conftest import QUICK
from worker import hosting

SCRIPT = Script([{"text": "done", "repeat": True}])


async def test_a_call_that_no_worker_takes_up_fails_its_job_in_the_end_and_a_reply_goes_on(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.policies.RATED_WAIT", timedelta(seconds=1))
    monkeypatch.setattr("worker.Sandbox", UnsandboxedWorkflowRunner)  # which would import that module anew
    gone, after = (
        App([Agent("asker", SCRIPT, rate=Rate("gone", requests_per_minute=60))]),
        App([Agent("asker", SCRIPT)]),
    )
    gone.rates.clear()  # its agent still says it, and no worker serves it
    client = Client(temporal, task_queue="gone")
    async with hosting(temporal, gone, task_queue="gone", settings=QUICK):
        job = await client.start("asker", "go")
        outcome = await job.outcome()
    async with hosting(temporal, after, task_queue="gone", settings=QUICK):
        again = await (await client.reply(job.id, "once more")).outcome()

    assert outcome.status == "model_failure"
    assert outcome.error is not None
    assert outcome.error.startswith("no worker took it up in time")
    assert (again.status, again.answer) == ("complete", "done")
