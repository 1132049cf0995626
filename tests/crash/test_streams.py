"""A tool that closes the streams of its worker's process."""

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers

pytestmark = pytest.mark.crash


async def test_a_tool_that_closes_the_streams_costs_no_later_step_and_no_clean_stop(
    workers: Workers, client: Client
) -> None:
    worker = await workers.start()
    job = await client.start("closer", "go")
    outcome = await job.outcome()
    code = await worker.terminate()
    await workers.said("tool stumble failed in job")

    assert outcome.status == "complete"
    assert [finding.content for finding in outcome.findings] == ["closed", "The tool failed: ValueError: no luck"]
    assert code == 0
