"""Budgets of tenants on a real server: all jobs count, batches are held, and go on by themselves."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import Client as Temporal
from temporalio.testing import WorkflowEnvironment

from activities.agents import Agent
from activities.apps import App
from activities.budgets.spending import TenantSpending
from activities.budgets.tenant_budget import TenantBudget
from activities.payloads import data_converter
from activities.providers.script import Script
from surefoot.batches.batch import Batch, BatchView
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.schedules import Terms
from tests.conftest import QUICK, TEMPORAL
from tests.waiting import until
from worker import hosting
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.showing import ATTRIBUTES, COST

DEAR = Agent("dear", Script([{"text": "done", "usage": {"input_tokens": 100, "output_tokens": 0}, "repeat": True}]))


TEN = {"input_tokens": 10, "output_tokens": 0}


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.budgets.spending.LATE", timedelta(seconds=1))
    monkeypatch.setattr("activities.budgets.spending.EACH", timedelta(milliseconds=200))


def app(*budgets: TenantBudget, agents: tuple[Agent, ...] = (DEAR,)) -> App:
    return App(agents, tenant_budgets=budgets)


async def submitted(client: Client, tenant: str, *, lines: int, concurrency: int = 1) -> Batch:
    given = [BatchLine(number=n, custom_id=f"id-{n}", input=f"say {n}") for n in range(1, lines + 1)]
    order, id = BatchOrder(agent="dear", tenant=tenant), fresh("batch")
    await submit(client.temporal, client.task_queue, given, order, id=id, digest=id, concurrency=concurrency)
    return Batch(client.temporal, id)


def is_(state: str) -> Callable[[BatchView], bool]:
    return lambda view: view.state == state


async def used(temporal: Temporal, tenant: str, tokens: int) -> str:
    """How a spent budget reads once so many tokens are charged to the tenant."""
    spending = TenantSpending([TenantBudget(tokens=1)])

    async def why() -> str:
        found = await spending.spent_up(temporal, tenant, datetime.now(UTC))
        return found.why if found else ""

    return await until(why, lambda told: f"({tokens} used)" in told)


async def test_all_batches_of_a_tenant_are_held_when_its_budget_is_spent_and_others_go_on(temporal: Temporal) -> None:
    queue, tenant = fresh("queue"), fresh("acme")
    client = Client(temporal, task_queue=queue)
    async with hosting(temporal, app(TenantBudget(tokens=300, tenant=tenant)), task_queue=queue, settings=QUICK):
        first = await submitted(client, tenant, lines=5000)
        seen = await until(first.view, is_("held"))
        second = await submitted(client, tenant, lines=2)
        at_once = await until(second.view, is_("held"))
        other = await until((await submitted(client, fresh("other"), lines=5)).view, is_("ended"))

    assert seen.hold is not None
    assert seen.hold.startswith(f"tenant {tenant}'s budget of 300 tokens a day is spent (")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert f"it goes on by itself at {tomorrow:%Y-%m-%d} 00:00 UTC" in seen.hold
    assert 3 <= seen.done < 5000
    assert at_once.done == 0
    assert other.done == 5


async def test_a_held_batch_goes_on_by_itself_in_the_next_period(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC)
    turn, end = start + timedelta(seconds=15), start + timedelta(days=1)
    monkeypatch.setattr(
        "activities.budgets.spending.period", lambda _, now: (start, turn) if now < turn else (turn, end)
    )
    queue, tenant = fresh("queue"), fresh("acme")
    client = Client(temporal, task_queue=queue)
    async with hosting(temporal, app(TenantBudget(tokens=300)), task_queue=queue, settings=QUICK):
        batch = await submitted(client, tenant, lines=5000)
        held = await until(batch.view, is_("held"))
        again = await until(batch.view, lambda view: view.state == "held" and view.hold != held.hold)

    assert held.hold is not None
    assert f"at {turn:%Y-%m-%d %H:%M} UTC" in held.hold
    assert again.done >= held.done + 3
    assert again.hold is not None
    assert f"at {end:%Y-%m-%d %H:%M} UTC" in again.hold


async def test_a_persons_pause_of_a_batch_that_a_budget_holds_does_not_end_with_the_period(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC)
    turn, end = start + timedelta(seconds=12), start + timedelta(days=1)
    monkeypatch.setattr(
        "activities.budgets.spending.period", lambda _, now: (start, turn) if now < turn else (turn, end)
    )
    queue, tenant = fresh("queue"), fresh("acme")
    client = Client(temporal, task_queue=queue)
    async with hosting(temporal, app(TenantBudget(tokens=100)), task_queue=queue, settings=QUICK):
        batch = await submitted(client, tenant, lines=5000)
        twin = await submitted(client, tenant, lines=5000)
        await until(batch.view, is_("held"))
        await until(twin.view, is_("held"))
        await batch.pause(by="ann")
        paused = await until(batch.view, lambda view: view.hold == "paused by ann")
        await until(twin.view, lambda view: view.hold is not None and f"{end:%Y-%m-%d}" in view.hold)
        after = await batch.view()

    assert (after.hold, after.done) == ("paused by ann", paused.done)


async def test_jobs_outside_batches_their_replies_and_scheduled_ones_are_charged_once_each(temporal: Temporal) -> None:
    queue, tenant = fresh("queue"), fresh("acme")
    client = Client(temporal, task_queue=queue)
    asker = Agent(
        "asker",
        Script(
            [
                {"calls": [{"tool": "dear", "arguments": {"message": "x"}}], "usage": TEN},
                {"text": "ok", "usage": TEN},
            ]
        ),
        tools=[DEAR.as_tool("Asks.")],
    )
    async with hosting(temporal, app(agents=(DEAR, asker)), task_queue=queue, settings=QUICK):
        job = await client.start("dear", "go", tenant=tenant)
        await job.outcome()
        await (await client.reply(job.id, "more")).outcome()
        family = await (await client.start("asker", "go", tenant=tenant)).outcome()
        schedule = await client.schedules.create(
            fresh("nightly"), "dear", "go", Terms(cron=["0 3 1 1 *"]), tenant=tenant
        )
        await schedule.trigger()
        told = await used(temporal, tenant, 100 + 100 + 120 + 100)

    assert family.usage.tokens == 120
    assert told.startswith(f"tenant {tenant}'s budget of 1 tokens a day is spent (420 used)")


async def test_where_the_server_has_no_place_for_costs_jobs_of_tenants_end_as_ever() -> None:
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(TEMPORAL),
        dev_server_startup_timeout=timedelta(seconds=30),
        search_attributes=[key for key in ATTRIBUTES if key != COST],
        data_converter=data_converter(),
    ) as environment:
        client = Client(environment.client, task_queue="old")
        async with hosting(environment.client, app(), task_queue="old", settings=QUICK):
            outcome = await (await client.start("dear", "go", tenant="acme")).outcome()

    assert outcome.status == "complete"
