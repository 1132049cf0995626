"""A worker that dies while a job is summed up, or right after it: the summary is paid for once if it was recorded."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers
from tests.judge_transcript import judge_transcript

pytestmark = pytest.mark.crash


@pytest.mark.parametrize(
    ("point", "calls"),
    [
        ("model-talker-summary", [0, 1, 2, 3, "summary", "summary", 4, 5]),
        ("model-talker-4", [0, 1, 2, 3, "summary", 4, 4, 5]),
    ],
    ids=["during", "after"],
)
async def test_a_recorded_summary_is_not_made_again_and_one_that_was_lost_is(
    workers: Workers, client: Client, point: str, calls: list[object]
) -> None:
    workers.stop(point)
    worker = await workers.start()
    job = await client.start("talker", "go")
    await workers.reached(point)
    await worker.kill()
    await workers.start()
    outcome = await asyncio.wait_for(job.outcome(), 30)
    transcript, audit = await job.transcript(), await job.audit()

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert workers.model_calls("talker") == calls
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts) == (7, 1)
    assert [entry.summary for entry in audit] == ["In short."]
    judge_transcript(transcript)
