"""Forty mails overnight: all that need nobody are answered, and each refund waits for its decision."""

import importlib

from surefoot.batches.results import results
from tests.examples.conftest import Example
from tests.waiting import until


async def test_in_the_morning_there_are_answers_the_bill_and_what_needs_a_person(example: Example) -> None:
    async with example("overnight.py") as client:
        app = importlib.import_module("overnight")
        told = await app.overnight(client)
        batch = (await client.batches.list(limit=1))[0].batch
        waiting = [item for item in await client.inbox() if item.job.startswith(batch)]
        for item in waiting:
            await client.job(item.job).approve(item.call, digest=item.digest, by="ann")
        view = await until(client.batches[batch].view, lambda view: view.state == "ended")
        rows = [row async for row in results(client.batches[batch])]
        again = await client.batches.submit(app.MAILS, agent="sorter", concurrency=10, budget=app.Budget(cost_usd=1.0))

    first = told.splitlines()
    assert first[0] == f"{batch}: 32 of 40 mails answered, 8 wait, 0 failed"
    assert sorted(first[1:5]) == ["    7 invoice", "    7 praise", "    8 question", "   10 delivery"]
    assert "waits: Pay 24.90 EUR back for A-2001" in told
    assert (len(waiting), view.done, again.id) == (8, 40, batch)
    assert [row.custom_id for row in rows] == [f"mail-{n:02d}" for n in range(1, 41)]
    assert rows[0].output == {"topic": "damage", "reply": "We are sorry. 24.90 EUR are paid back for A-2001."}
    assert rows[0].metadata == {"from": "customer01@example.com"}
    assert round(view.spent.cost_usd, 4) == round(48 * 0.0004, 4)
