"""kill -9 while a notice is on its way: it is delivered by the next worker, under the same id."""

import asyncio

import pytest

from surefoot.client import Client
from tests.crash.processes import Workers
from tests.waiting import until
from tests.webhook_receiver import answer, receiver

pytestmark = pytest.mark.crash

SECRET = "whsec_" + "c2VjcmV0" * 4


async def test_a_notice_whose_worker_died_is_delivered_by_the_next_one(workers: Workers, client: Client) -> None:
    over = asyncio.Event()

    async def first_hangs(number: int) -> bytes:
        if number == 1:
            await over.wait()
        return answer()

    async with receiver(first_hangs) as endpoint:
        settings = {"CRASH_HOOK": endpoint.url, "SUREFOOT_WEBHOOK_SECRET": SECRET, "NO_PROXY": "127.0.0.1"}
        worker = await workers.start(**settings)
        job = await client.start("teller", "go")
        outcome = await job.outcome()
        await endpoint.got(1)
        await worker.kill()
        await workers.start(**settings)
        first, second = await endpoint.got(2)
        over.set()
        await until(lambda: open_deliveries(client), lambda count: count == 0)

    assert outcome.status == "complete"
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.json == second.json
    assert (second.type, second.json["data"]["job"]) == ("job.ended", job.id)


async def open_deliveries(client: Client) -> int:
    query = f"WorkflowType = 'NoticeDelivery' AND TaskQueue = '{client.task_queue}' AND ExecutionStatus = 'Running'"
    return (await client.temporal.count_workflows(query)).count
