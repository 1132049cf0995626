"""Replays what really happened against the code as it is now."""

from temporalio.client import Client as Temporal
from temporalio.worker import Replayer

from activities.payloads import data_converter
from activities.sandbox import Sandbox
from worker import WORKFLOWS


async def assert_replays(temporal: Temporal, job: str) -> None:
    """Fails when today's code decides otherwise than this job's history says."""
    history = await temporal.get_workflow_handle(job).fetch_history()
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=Sandbox(), data_converter=data_converter())
    await replayer.replay_workflow(history)
