"""Where the lines of batches lie: for as long as a batch needs them, and no longer, whatever became of it."""

from datetime import timedelta

import pytest
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecutionStatus

from activities.agents import Agent
from activities.providers.script import Script
from activities.tools.tool import tool
from surefoot.batches.batch import Batch
from surefoot.batches.results import results
from surefoot.batches.retrying import retry
from surefoot.batches.submitting import put_parts, submit
from surefoot.client import Client
from surefoot.errors import NoSuchBatch
from tests.batches.forgetting import forget
from tests.conftest import Host
from tests.replaying import assert_replays
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchLines, BatchOrder
from workflows.labels import BATCH_PART

WORKER = Agent("worker", Script([{"text": "done"}]))
PART = "{}/digest/0000"


@tool
def pay() -> str:
    return "paid"


PAYER = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts look for their batches after a moment."""
    monkeypatch.setattr("workflows.batches.part.UNHEARD", timedelta(seconds=0.2))


def lines(count: int) -> list[BatchLine]:
    return [BatchLine(number=n, custom_id=f"id-{n}", input=f"say {n}") for n in range(1, count + 1)]


async def submitted(client: Client, id: str) -> Batch:
    order = BatchOrder(agent="worker")
    assert await submit(client.temporal, client.task_queue, lines(3), order, id=id, digest="digest")
    return Batch(client.temporal, id)


async def stands(temporal: Temporal, part: str, status: WorkflowExecutionStatus) -> None:
    await until(temporal.get_workflow_handle(part).describe, lambda seen: seen.status == status)


async def looks(temporal: Temporal, part: str) -> int:
    """How often it has looked for its batch."""
    history = await temporal.get_workflow_handle(part).fetch_history()
    return sum(event.HasField("activity_task_completed_event_attributes") for event in history.events)


async def test_lines_of_a_submission_that_broke_off_are_given_up_and_it_can_be_repeated(host: Host, soon: None) -> None:
    async with host(WORKER) as client:
        temporal, part = client.temporal, PART.format("broken-off")
        (put,) = await put_parts(temporal, client.task_queue, "broken-off", "digest", lines(3))
        await stands(temporal, part, WorkflowExecutionStatus.COMPLETED)
        await assert_replays(temporal, part)
        batch = await submitted(client, "broken-off")
        state = await batch.state()
        view = await until(batch.view, lambda view: view.state == "ended")
        found = [row.answer async for row in results(batch)]
        await stands(temporal, part, WorkflowExecutionStatus.COMPLETED)

    assert (put.id, put.lines) == (part, 3)
    assert state.parts == [put]
    assert (view.done, found) == (3, ["done"] * 3)


async def test_lines_stay_while_their_batch_runs_and_go_when_it_is_terminated(host: Host, soon: None) -> None:
    async with host(PAYER) as client:
        temporal, part = client.temporal, PART.format("terminated")
        batch = await submitted(client, "terminated")
        await until(batch.view, lambda view: view.waiting == 3)
        before = await looks(temporal, part)
        await until(lambda: looks(temporal, part), lambda seen: seen > before + 1)
        await stands(temporal, part, WorkflowExecutionStatus.RUNNING)
        await batch.handle().terminate()
        await stands(temporal, part, WorkflowExecutionStatus.COMPLETED)
        await assert_replays(temporal, part)


async def test_a_batch_that_ends_releases_its_lines_at_once(host: Host) -> None:
    async with host(WORKER) as client:
        batch = await submitted(client, "released")
        await until(batch.view, lambda view: view.state == "ended")
        await stands(client.temporal, PART.format("released"), WorkflowExecutionStatus.COMPLETED)

        assert await looks(client.temporal, PART.format("released")) == 0


async def test_lines_that_name_no_batch_wait_until_they_are_released(host: Host, soon: None) -> None:
    async with host(WORKER) as client:
        part = await client.temporal.start_workflow(
            BATCH_PART, BatchLines(lines=lines(1)), id="nameless", task_queue=client.task_queue
        )
        await until(part.describe, lambda seen: seen.history_length >= 4)
        await part.signal("release")
        await part.result()
        history = await part.fetch_history()

    assert not any(event.HasField("timer_started_event_attributes") for event in history.events)
    assert not any(event.HasField("marker_recorded_event_attributes") for event in history.events)


async def test_a_batch_that_runs_again_keeps_its_lines_until_it_has_ended_again(host: Host) -> None:
    late = BatchLine(number=4, custom_id="id-4", input="pay", agent="payer")
    part, again = PART.format("kept-on"), "kept-on/retry-0.0/0000"
    async with host(WORKER) as client:
        order = BatchOrder(agent="worker")
        await submit(client.temporal, client.task_queue, [*lines(3), late], order, id="kept-on", digest="digest")
        batch = client.batches["kept-on"]
        view = await until(batch.view, lambda view: view.state == "ended")
        assert (view.done, view.failed) == (3, 1)
        await stands(client.temporal, part, WorkflowExecutionStatus.COMPLETED)
    async with host(WORKER, Agent("payer", PAYER.model, tools=[pay])) as client:
        assert await retry(batch) == 1
        await until(batch.view, lambda view: view.waiting == 1)
        for each in (part, again):
            await stands(client.temporal, each, WorkflowExecutionStatus.RUNNING)
        job = client.job("kept-on-000004-2")
        (pending,) = await job.all_pending()
        await job.approve(pending.call, by="ann")
        view = await until(batch.view, lambda view: view.state == "ended")
        for each in (part, again):
            await stands(client.temporal, each, WorkflowExecutionStatus.COMPLETED)
        found = [row.status async for row in results(batch)]

    assert (view.done, view.failed) == (4, 0)
    assert found == ["complete"] * 4


async def test_a_batch_whose_lines_the_server_has_no_more_says_so(host: Host) -> None:
    async with host(WORKER) as client:
        batch = await submitted(client, "lost")
        await until(batch.view, lambda view: view.state == "ended")
        await forget(client.temporal, PART.format("lost"))
        for word in (anext(results(batch)), retry(batch)):
            with pytest.raises(
                NoSuchBatch, match=r"lines of batch lost no more \(lost/digest/0000 is gone\).*another id"
            ):
                await word
