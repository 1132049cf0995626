"""Forty mails overnight: all that need nobody are answered, and each refund waits for its decision."""

import importlib
import re
import subprocess
import sys

import pytest

from surefoot.batches import results
from tests.examples.conftest import EXAMPLES, Example
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
    assert re.fullmatch(r"spent on these: \$0\.0128, [\d,]+ tokens", first[5])
    assert "waits: Pay 24.90 EUR back for A-2001" in told
    assert (len(waiting), view.done, again.id) == (8, 40, batch)
    assert [row.custom_id for row in rows] == [f"mail-{n:02d}" for n in range(1, 41)]
    assert rows[0].output == {"topic": "damage", "reply": "We are sorry. 24.90 EUR are paid back for A-2001."}
    assert rows[0].metadata == {"from": "customer01@example.com"}
    assert round(view.spent.cost_usd, 4) == round(48 * 0.0004, 4)


@pytest.mark.crash
def test_the_same_night_at_half_price_gets_over_a_fault_and_pays_nothing_twice() -> None:
    command = [sys.executable, str(EXAMPLES / "overnight.py"), "--lane", "batch", "--fault", "half_failed"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout.splitlines()

    assert re.fullmatch(r"batch-\w+: 32 of 40 mails answered, 8 wait, 0 failed", told[0])
    assert sorted(told[1:5]) == ["    7 invoice", "    7 praise", "    8 question", "   10 delivery"]
    spent = re.fullmatch(r"spent on these: \$(0\.\d{4}), [\d,]+ tokens", told[5])
    saved = re.fullmatch(r"saved: \$(0\.\d{4}); added: up to \d+ s of waiting for provider batches", told[6])
    assert spent is not None
    assert saved is not None
    assert spent[1] == saved[1] > "0.0000"
    assert len([line for line in told if line.startswith("waits: Pay ")]) == 8
    assert told[-1] == "provider batches: 2; requests sent alone: 0; billed twice: 0"
