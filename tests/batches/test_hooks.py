"""OpenAI's webhook, from the stand-in that sends it over our HTTP server to the provider batch that looks at once.

Where a test says PATIENT nothing but an event lets a batch be looked at before the test is over.
"""

import base64
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from activities.agents import Agent
from stand_ins.webhook import Webhook
from surefoot.batches.batch import Batch
from surefoot.batches.looking import look_now
from surefoot.errors import JobEnded
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.serving import listen, serving
from tests.batch_apis import StandIn, stand_in
from tests.batches.lanes import SETTINGS, TERMS, Run, ended, running
from tests.conftest import Host
from tests.replaying import assert_replays
from tests.waiting import until
from workflows.lanes.contracts import PROVIDER_BATCH, LaneTerms
from workflows.showing import BATCH

PATIENT = TERMS.model_copy(update={"poll": 3600.0, "longest_poll": 3600.0})


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Webhook:
    secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
    monkeypatch.setenv("OPENAI_WEBHOOK_SECRET", secret)
    return Webhook("", secret)


@pytest.fixture
async def server(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    async with stand_in("openai", webhook=webhook, name=f"batch_{uuid.uuid4().hex}") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        server.books.held = True
        yield server


@asynccontextmanager
async def hooked(host: Host, server: StandIn, webhook: Webhook, terms: LaneTerms = PATIENT) -> AsyncIterator[Run]:
    """A worker, and our HTTP server, to which the stand-in sends its events."""
    agent = Agent("worker", server.model)
    async with (
        running(host, server, agent, terms=terms) as run,
        serving(create_app(run.client, Access.open("me", [])), listen("127.0.0.1", 0)) as served,
    ):
        webhook.url = f"{served.url}/hooks/openai"
        yield run


async def known(run: Run) -> str:
    """The id of the only provider batch's workflow, once it can be found by the provider's name of it."""
    (batch,) = await until(lambda: _batches(run))
    (workflow,) = await until(lambda: run.ids(PROVIDER_BATCH, f"{BATCH.name} = '{batch}'"))
    return workflow


async def _batches(run: Run) -> list[str]:
    return [batch.id for batch in run.server.books.batches]


async def looks(run: Run) -> int:
    return run.server.books.batches[0].looks


async def over(run: Run, batch: Batch) -> None:
    """End the batch's only job, which would wait when its worker is gone."""
    with suppress(JobEnded):
        await run.job(batch).cancel()
    await run.job(batch).outcome()


async def test_a_signed_event_ends_the_wait_for_a_provider_batch(host: Host, server: StandIn, webhook: Webhook) -> None:
    async with hooked(host, server, webhook) as run:
        batch = await run.submit("told", 3)
        workflow = await known(run)
        await server.release()
        rows = await ended(batch)
        await until(lambda: run.ids(PROVIDER_BATCH, "ExecutionStatus = 'Completed'"))
        await webhook.send("completed", server.books.batches[0].id)
        await assert_replays(run.client.temporal, workflow)

    assert [row.answer for row in rows] == [f"heard say {n}" for n in range(1, 4)]
    assert (server.books.batches[0].looks, server.books.alone, server.books.most_billed) == (2, [], 1)
    assert webhook.answers == [200, 200]


@pytest.mark.parametrize(
    ("fault", "status"), [("expired", "expired"), ("cancelled", "cancelled"), ("token_limit", "failed")]
)
async def test_so_does_the_event_of_any_other_end(
    host: Host, server: StandIn, webhook: Webhook, fault: str, status: str
) -> None:
    server.books.faults[fault] = 1
    async with hooked(host, server, webhook) as run:
        batch = await run.submit(fault, 1)
        workflow = await known(run)
        await server.release()
        await run.client.temporal.get_workflow_handle(workflow).result()
        await over(run, batch)

    assert (server.books.batches[0].status, webhook.answers[0]) == (status, 200)


async def test_an_event_before_its_batch_is_known_here_costs_time_and_no_job(
    host: Host, server: StandIn, webhook: Webhook
) -> None:
    async def early(point: str) -> None:
        if point == "created":
            await webhook.send("completed", server.books.batches[0].id)
            server.books.batches[0].is_over = True

    server.books.point = early
    async with hooked(host, server, webhook, terms=PATIENT.model_copy(update={"poll": 1.0})) as run:
        batch = await run.submit("early", 2)
        await known(run)
        server.books.held = False
        rows = await ended(batch)

    assert webhook.answers == [200]
    assert [row.status for row in rows] == ["complete", "complete"]


async def test_the_stand_in_tells_of_an_end_by_itself(host: Host, server: StandIn, webhook: Webhook) -> None:
    async def answers() -> list[int]:
        return webhook.answers

    server.books.held, webhook.after = False, 0.2
    async with hooked(host, server, webhook, terms=TERMS) as run:
        rows = await ended(await run.submit("itself", 2))
        seen = await until(answers)

    assert (seen, [row.status for row in rows]) == ([200], ["complete", "complete"])


async def test_an_event_while_no_worker_is_up_counts_when_one_is(host: Host, server: StandIn, webhook: Webhook) -> None:
    agent, settings = Agent("worker", server.model), replace(SETTINGS, lane_terms=PATIENT)
    async with host(agent, settings=settings, cached=0) as client:
        run = Run(client, server)
        batch = await run.submit("alone", 2)
        await known(run)
    async with serving(create_app(client, Access.open("me", [])), listen("127.0.0.1", 0)) as served:
        webhook.url = f"{served.url}/hooks/openai"
        await server.release()
    async with host(agent, settings=settings):
        rows = await ended(batch)
        await run.end()

    assert webhook.answers == [200]
    assert [row.status for row in rows] == ["complete", "complete"]


async def test_an_event_is_not_believed_the_provider_is_asked(host: Host, server: StandIn, webhook: Webhook) -> None:
    async with hooked(host, server, webhook, terms=PATIENT.model_copy(update={"poll": 2.0})) as run:
        batch = await run.submit("false", 1)
        await known(run)
        for kind in ("failed", "completed", "cancelled"):
            await webhook.send(kind, server.books.batches[0].id)
        await until(lambda: looks(run), lambda seen: seen >= 2)
        view = await batch.view()
        server.books.held = False
        (row,) = await ended(batch)

    assert (view.state, view.batched, view.failed) == ("running", 1, 0)
    assert (row.status, row.answer, server.books.alone) == ("complete", "heard say 1", [])


async def test_however_many_events_there_are_the_provider_is_asked_once_and_then_by_the_clock(
    host: Host, server: StandIn, webhook: Webhook
) -> None:
    async with hooked(host, server, webhook) as run:
        batch = await run.submit("flood", 1)
        workflow = run.client.temporal.get_workflow_handle(await known(run))
        await webhook.send("completed", server.books.batches[0].id)
        await until(lambda: looks(run), lambda seen: seen == 1)
        for _ in range(20):
            await webhook.send("completed", server.books.batches[0].id)

        async def heard() -> int:
            history = await workflow.fetch_history()
            tasks = [event for event in history.events if event.HasField("workflow_task_completed_event_attributes")]
            signals = [
                event for event in history.events if event.HasField("workflow_execution_signaled_event_attributes")
            ]
            return len(signals) if tasks and tasks[-1].event_id > signals[-1].event_id else 0

        await until(heard, lambda seen: seen == 21)
        await assert_replays(run.client.temporal, workflow.id)
        seen = await looks(run)
        await over(run, batch)

    assert seen == 1
    assert webhook.answers == [200] * 21


async def test_a_batch_is_found_in_whichever_run_its_workflow_goes_on(
    host: Host, server: StandIn, webhook: Webhook
) -> None:
    quick = TERMS.model_copy(update={"events": 30, "poll": 0.1, "longest_poll": 0.1})
    async with hooked(host, server, webhook, terms=quick) as run:
        batch = await run.submit("moved", 1)
        workflow = await known(run)
        await until(lambda: run.ids(PROVIDER_BATCH, "ExecutionStatus = 'ContinuedAsNew'"))
        told = await until(lambda: look_now(run.client.temporal, server.books.batches[0].id))
        server.books.held = False
        (row,) = await ended(batch)
        runs = {each.id async for each in run.client.temporal.list_workflows(f"WorkflowId = '{workflow}'")}

    assert (told, row.status, runs) == (1, "complete", {workflow})
