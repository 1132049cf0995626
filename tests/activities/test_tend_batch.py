"""What a step that tends a batch knows of it when it is asked to end."""

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from activities.batches import jobs as batch_jobs
from activities.batches import tend as tend_module
from activities.batches.tend import _Tending
from activities.budgets.spending import TenantSpending
from workflows.batches.contracts import BatchLine, BatchState, PartRef, TendBatch


class Lines:
    """Five lines."""

    async def read(self, start: int, most: int) -> list[BatchLine]:
        return [BatchLine(number=n, custom_id=f"id-{n}", input="go") for n in range(1, 6)][start : start + most]


async def test_jobs_that_are_being_begun_when_it_is_asked_to_end_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    started, go, begun = asyncio.Event(), asyncio.Event(), list[int]()

    async def begin(_client: Client, _queue: str, _batch: str, line: BatchLine, *_: object) -> str:
        started.set()
        await go.wait()
        begun.append(line.number)
        return f"job-{line.number}"

    monkeypatch.setattr(batch_jobs, "begin", begin)

    async def tend() -> int:
        state = BatchState(parts=[PartRef(id="part", lines=5)], submitted=datetime.now(UTC))
        tending = _Tending(cast(Client, None), TendBatch(batch="batch", state=state), TenantSpending())
        monkeypatch.setattr(tending, "_lines", Lines())
        monkeypatch.setattr(tending, "_listen", lambda _job: asyncio.sleep(0))
        beginning = asyncio.create_task(tending._begin(3))
        await started.wait()
        beginning.cancel()
        asyncio.get_running_loop().call_soon(go.set)
        with pytest.raises(asyncio.CancelledError):
            await beginning
        return tending._progress.begun

    known = await cast(Any, ActivityEnvironment()).run(tend)

    assert (known, begun) == (3, [1, 2, 3])


@pytest.mark.parametrize(("occupied", "begun"), [(0, [1, 2]), (1, [1]), (2, []), (12, [])])
async def test_no_job_begins_while_as_many_run_as_may_or_more(
    monkeypatch: pytest.MonkeyPatch, occupied: int, begun: list[int]
) -> None:
    seen: list[int] = []

    async def begin(_client: Client, _queue: str, _batch: str, line: BatchLine, *_: object) -> str:
        seen.append(line.number)
        return f"job-{line.number}"

    async def tend() -> None:
        state = BatchState(parts=[PartRef(id="part", lines=5)], submitted=datetime.now(UTC), concurrency=2)
        tending = _Tending(cast(Client, None), TendBatch(batch="batch", state=state), TenantSpending())
        monkeypatch.setattr(tending, "_lines", Lines())
        monkeypatch.setattr(tending, "_listen", lambda _job: asyncio.sleep(60))
        tending._occupied = occupied
        await tending._fill()
        for fresh in tending._fresh.values():
            fresh.listening.cancel()

    monkeypatch.setattr(batch_jobs, "begin", begin)
    monkeypatch.setattr(tend_module, "LOOK_SECONDS", 0.1)
    await cast(Any, ActivityEnvironment()).run(tend)

    assert seen == begun
