"""Faults of batch APIs: whatever goes wrong, every job is done, nothing that was answered is asked again.

What a fault costs is in the numbers of provider batches: one that only hides its id is none more.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from activities.agents import Agent
from tests.batch_apis import StandIn, stand_in
from tests.batches.lanes import TERMS, ended, running, settled
from tests.conftest import Host
from tests.waiting import until
from workflows.lane_contracts import LaneChange

JOBS = 6


@dataclass
class Fault:
    """A fault of one provider, and how many provider batches there are in all, and requests that are sent alone."""

    api: str
    name: str
    batches: int
    alone: int = 0

    def __str__(self) -> str:
        return f"{self.api}-{self.name}"


FAULTS = [
    Fault("openai", "reply_dropped", 1),
    Fault("openai", "empty_id", 1),
    Fault("openai", "file_not_found", 1),
    Fault("openai", "billing_limit", 1),
    Fault("openai", "token_limit", 2),
    Fault("openai", "no_output_file", 1, alone=JOBS),
    Fault("openai", "no_files", 2),
    Fault("openai", "shuffled", 1),
    Fault("openai", "missing_line", 2),
    Fault("openai", "doubled_line", 1),
    Fault("openai", "half_failed", 2),
    Fault("openai", "expired", 2),
    Fault("openai", "cancelled", 2),
    Fault("openai", "credit", 2),
    Fault("anthropic", "reply_dropped", 1),
    Fault("anthropic", "empty_id", 1),
    Fault("anthropic", "billing_limit", 1),
    Fault("anthropic", "half_failed", 2),
    Fault("anthropic", "expired", 2),
    Fault("anthropic", "credit", 2),
]


@pytest.fixture(params=FAULTS, ids=str)
def fault(request: pytest.FixtureRequest) -> Fault:
    found: Fault = request.param
    return found


@pytest.fixture
async def server(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in(fault.api) as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        yield server


async def test_every_job_is_done_and_nothing_is_billed_twice(host: Host, server: StandIn, fault: Fault) -> None:
    server.books.faults[fault.name] = 1
    async with running(host, server, Agent("worker", server.model)) as run:
        rows = await ended(await run.submit(fault.name, JOBS))
        lane = await settled(run)

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, JOBS + 1)]
    assert (server.books.most_billed, len(server.books.billed)) == (1, JOBS)
    assert (len(server.books.batches), len(server.books.alone)) == (fault.batches, fault.alone)
    assert (lane.books.answered, lane.books.late) == (JOBS - fault.alone, 0)
    assert server.books.faults[fault.name] == 0


async def test_a_lane_without_credit_waits_for_whoever_lets_it_go_on(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        server.books.faults["credit"] = 1
        terms = TERMS.model_copy(update={"pause": 3600.0})
        async with running(host, server, Agent("worker", server.model), terms=terms) as run:
            batch = await run.submit("poor", JOBS)
            lane = await until(run.lane, lambda lane: lane.hold is not None)
            view = await until(batch.view, lambda view: view.done == 1)

            assert "insufficient_quota" in (lane.hold or "")
            assert len(lane.lines) == JOBS - 1
            assert (view.batched, view.failed, view.incomplete) == (JOBS - 1, 0, 0)
            assert len(server.books.batches) == 1

            (id,) = await run.ids("Lane")
            await run.client.temporal.get_workflow_handle(id).signal("change", LaneChange(hold="", by="ann"))
            rows = await ended(batch)

    assert {row.status for row in rows} == {"complete"}
    assert (len(server.books.batches), server.books.most_billed) == (2, 1)
