"""What webhooks are told of jobs, by deliveries that jobs do not wait for."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
import standardwebhooks
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution

from activities.agents import Agent
from activities.approval import Approval
from activities.errors import OutcomeUnknown
from activities.notices.webhooks import Webhook
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import QUICK, Host
from tests.replaying import assert_replays
from tests.waiting import until
from tests.webhook_receiver import Receiver, answer, ok, receiver
from tests.workflows.gated import Ledger, call, ended, started, waiting, writer
from workflows import notices, policies
from workflows.contracts import Notice, Resolution

SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture(autouse=True)
def signing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_WEBHOOK_SECRET", SECRET)


def told(endpoint: Receiver) -> list[str]:
    return [each.type for each in endpoint.received]


async def deliveries(client: Client, job: Job) -> list[WorkflowExecution]:
    """The delivery workflows of a job."""
    query = f"WorkflowType = 'NoticeDelivery' AND TaskQueue = '{client.task_queue}'"
    return [run async for run in client.temporal.list_workflows(query) if run.parent_id == job.id]


async def all_delivered(client: Client, job: Job, count: int) -> None:
    def over(runs: Sequence[WorkflowExecution]) -> bool:
        return len(runs) == count and all(run.status is not None and run.status.name == "COMPLETED" for run in runs)

    await until(lambda: deliveries(client, job), over)


async def events(temporal: Temporal, job: str) -> list[str]:
    history = await temporal.get_workflow_handle(job).fetch_history()
    return [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in history.events]


async def test_a_decision_that_is_needed_and_the_end_of_the_job_are_told_and_signed(host: Host) -> None:
    ledger = Ledger()
    async with receiver() as endpoint:
        agent = writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job, (pending,) = await started(client, "w")
            await endpoint.got(1)
            await job.approve(pending.call, by="ann")
            await ended(job)
            needed, end = await endpoint.got(2)
            await all_delivered(client, job, 2)
            await assert_replays(client.temporal, job.id)

    verified = standardwebhooks.Webhook(SECRET).verify(needed.body, needed.headers)
    assert verified == {
        "type": "decision.needed",
        "timestamp": verified["timestamp"],
        "data": {
            "event": "decision_needed",
            "job": job.id,
            "agent": "w",
            "call": "c1-1",
            "tool": "save",
            "digest": pending.digest,
            "asked_at": verified["data"]["asked_at"],
            "risk": "normal",
        },
    }
    assert standardwebhooks.Webhook(SECRET).verify(end.body, end.headers)["data"]["status"] == "complete"
    assert end.type == "job.ended"
    assert needed.headers["webhook-id"] != end.headers["webhook-id"]


async def test_an_agent_without_webhooks_records_nothing_of_them(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.approve(pending.call, by="ann")
        await ended(job)
        recorded = await events(client.temporal, job.id)
        none = await deliveries(client, job)

    assert [each for each in recorded if "CHILD" in each] == []
    assert none == []


async def test_only_the_events_that_a_webhook_wants_are_told(host: Host) -> None:
    ledger = Ledger()
    async with receiver() as all_of_them, receiver() as ends:
        notify = [Webhook(all_of_them.url), Webhook(ends.url, events=["job_ended"])]
        async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=notify)) as client:
            job, (pending,) = await started(client, "w")
            await all_of_them.got(1)
            await job.approve(pending.call, by="ann")
            await all_of_them.got(2)
            await ends.got(1)

    assert told(all_of_them) == ["decision.needed", "job.ended"]
    assert told(ends) == ["job.ended"]


async def test_an_edit_that_others_must_approve_is_told_as_another_question(host: Host) -> None:
    ledger = Ledger()
    async with receiver() as endpoint:
        save = ledger.tool(approval=Approval(quorum=2))
        notify = [Webhook(endpoint.url, events=["decision_needed"])]
        async with host(writer("w", [call("save", key="a")], tools=[save], notify=notify)) as client:
            job, (pending,) = await started(client, "w")
            await job.approve(pending.call, digest=pending.digest, by="ann")
            await job.approve(pending.call, digest=pending.digest, arguments={"key": "b"}, by="bob")
            (edited,) = await waiting(job)
            first, second = await endpoint.got(2)
            await job.approve(pending.call, digest=edited.digest, by="ann")
            await ended(job)
            await all_delivered(client, job, 2)

    assert [each.json["data"]["digest"] for each in (first, second)] == [pending.digest, edited.digest]
    assert pending.digest != edited.digest
    assert len(endpoint.received) == 2
    assert ledger.written == ["save b"]


async def test_reminders_and_an_escalation_are_told(host: Host) -> None:
    ledger = Ledger()
    asking = Approval(remind=0.2, expires=0.5, on_timeout="escalate", escalate_to=["boss"], approvers=["clerk"])
    async with receiver() as endpoint:
        save = ledger.tool(approval=asking)
        agent = writer("w", [call("save", key="a")], tools=[save], notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job = await client.start("w", "go")
            await until(endpoint.count, lambda _: {"decision.reminder", "decision.escalated"} <= set(told(endpoint)))
            await job.cancel()
            await ended(job)

    by_type = {each.type: each.json["data"] for each in endpoint.received}
    assert by_type["decision.needed"]["approvers"] == ["clerk"]
    assert by_type["decision.escalated"]["approvers"] == ["boss"]
    assert by_type["decision.needed"]["expires_at"] > by_type["decision.needed"]["asked_at"]
    assert "expires_at" not in by_type["decision.escalated"]


async def test_an_expiry_is_told(host: Host) -> None:
    ledger = Ledger()
    save = ledger.tool(approval=Approval(expires=0.3, on_timeout="deny"))
    async with receiver() as endpoint:
        notify = [Webhook(endpoint.url, events=["expired"])]
        async with host(writer("w", [call("save", key="a")], tools=[save], notify=notify)) as client:
            job = await client.start("w", "go")
            await ended(job)
            (expired,) = await endpoint.got(1)

    assert (expired.type, expired.json["data"]["call"]) == ("decision.expired", "c1-1")
    assert ledger.written == []


async def test_an_unknown_outcome_is_told(host: Host) -> None:
    @tool(policy="allow")
    async def send() -> str:
        raise OutcomeUnknown

    asking = {"send": Approval(approvers=["ops"], expires=60, on_timeout="deny")}
    async with receiver() as endpoint:
        agent = writer("w", [call("send")], tools=[send], approval=asking, notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job, (pending,) = await started(client, "w")
            (doubtful,) = await endpoint.got(1)
            await job.resolve(Resolution(call=pending.call, choice="happened", result="sent", by="ann", roles=["ops"]))
            await ended(job)
            await endpoint.got(2)

    assert (doubtful.type, doubtful.json["data"]["tool"]) == ("outcome.unknown", "send")
    assert doubtful.json["data"]["approvers"] == ["ops"]
    assert "expires_at" not in doubtful.json["data"]
    assert told(endpoint) == ["outcome.unknown", "job.ended"]


@pytest.mark.parametrize(("end", "status"), [("stop", "cancelled"), ("cancel", "cancelled")])
async def test_the_end_of_a_job_that_a_person_ends_is_told(host: Host, end: str, status: str) -> None:
    ledger = Ledger()
    async with receiver() as endpoint:
        notify = [Webhook(endpoint.url, events=["job_ended"])]
        async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=notify)) as client:
            job, _ = await started(client, "w")
            await getattr(job, end)()
            last = await ended(job)
            (notice,) = await endpoint.got(1)
            await assert_replays(client.temporal, job.id)

    assert last.outcome is not None
    assert last.outcome.status == status
    assert notice.json["data"]["status"] == status


async def test_the_end_of_a_job_that_failed_is_told(host: Host) -> None:
    async with receiver() as endpoint:
        agent = Agent("w", Script([{"error": {"kind": "Rejected", "message": "no"}}]), notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job = await client.start("w", "go")
            await ended(job)
            (notice,) = await endpoint.got(1)

    assert notice.json["data"]["status"] == "model_failure"
    assert "details" not in notice.json["data"]


async def test_an_endpoint_that_is_down_neither_slows_nor_fails_a_job(host: Host) -> None:
    ledger, entered, over = Ledger(), asyncio.Event(), asyncio.Event()

    async def silent(number: int) -> bytes:
        entered.set()
        await over.wait()
        return answer()

    async with receiver(silent) as hangs:
        notify = [Webhook(hangs.url), Webhook("http://127.0.0.1:9/refused")]
        async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=notify)) as client:
            job, (pending,) = await started(client, "w")
            await entered.wait()
            await job.approve(pending.call, by="ann")
            outcome = await asyncio.wait_for(job.outcome(), 20)
            left = await until(lambda: deliveries(client, job), lambda runs: len(runs) == 2)
        over.set()

    assert outcome.status == "complete"
    assert ledger.written == ["save a"]
    assert [run.status.name for run in left if run.status] == ["RUNNING", "RUNNING"]


async def test_a_notice_is_sent_again_under_its_id_until_it_is_taken(host: Host) -> None:
    async def third(number: int) -> bytes:
        return answer(200 if number == 3 else 500)

    async with receiver(third) as endpoint:
        agent = Agent("w", Script([{"text": "done"}]), notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job = await client.start("w", "go")
            received = await endpoint.got(3)
            await all_delivered(client, job, 1)

    assert len({each.headers["webhook-id"] for each in received}) == 1
    assert len({each.body for each in received}) == 1
    assert len(received) == 3


async def test_a_notice_that_nobody_takes_is_given_up_in_the_end_and_the_log_says_so(
    host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(policies.NOTICE, "schedule_to_close_timeout", timedelta(seconds=1))
    agent = Agent("w", Script([{"text": "done"}]), notify=[Webhook("http://127.0.0.1:9/refused", name="all")])
    async with host(agent) as client:
        job = await client.start("w", "go")
        await ended(job)
        await all_delivered(client, job, 1)

    assert f"(job_ended) of job {job.id} was not delivered to webhook all, and is given up: " in caplog.text


async def test_a_decision_that_was_made_before_anybody_was_told_is_not_told(host: Host) -> None:
    ledger, decided = Ledger(), asyncio.Event()

    async def not_yet(number: int) -> bytes:
        await decided.wait()
        return answer(503)

    async with receiver(not_yet) as endpoint:
        notify = [Webhook(endpoint.url, events=["decision_needed"])]
        rounds = [call("save", key="a")], [call("save", key="b")]
        async with host(writer("w", *rounds, tools=[ledger.tool()], notify=notify)) as client:
            job, (pending,) = await started(client, "w")
            await endpoint.got(1)
            await job.approve(pending.call, by="ann")
            await until(job.view, lambda view: bool(view.pending) and view.pending[0].call == "c2-1")
            endpoint.answering = ok
            decided.set()
            await all_delivered(client, job, 2)
            await job.cancel()
            await ended(job)

    calls = [each.json["data"]["call"] for each in endpoint.received]
    assert calls.count("c1-1") == 1
    assert set(calls) == {"c1-1", "c2-1"}


async def test_what_asks_at_once_is_told_by_one_child_and_each_call_by_itself(host: Host) -> None:
    ledger = Ledger()
    asked = [call("save", key=str(number)) for number in range(12)]
    async with receiver() as endpoint:
        notify = [Webhook(endpoint.url, events=["decision_needed"])]
        async with host(writer("w", asked, tools=[ledger.tool()], notify=notify)) as client:
            job, _ = await started(client, "w", 12)
            received = await endpoint.got(12)
            await all_delivered(client, job, 1)
            recorded = await events(client.temporal, job.id)
            await job.cancel()
            await ended(job)

    assert sorted(each.json["data"]["call"] for each in received) == sorted(f"c1-{n}" for n in range(1, 13))
    assert len({each.headers["webhook-id"] for each in received}) == 12
    assert [each for each in recorded if "CHILD" in each] == [
        "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
        "CHILD_WORKFLOW_EXECUTION_STARTED",
        "CHILD_WORKFLOW_EXECUTION_COMPLETED",
    ]


async def test_notices_go_on_over_new_runs_and_replies_with_an_id_of_their_own_each(host: Host) -> None:
    ledger = Ledger()
    rounds = [[call("save", key=str(number))] for number in range(4)]
    settings = type(QUICK)(**{**vars(QUICK), "history_events": 12})
    async with receiver() as endpoint:
        agent = writer("w", *rounds, tools=[ledger.tool(policy="allow")], notify=[Webhook(endpoint.url)])
        async with host(agent, settings=settings) as client:
            job = await client.start("w", "go")
            await ended(job)
            await endpoint.got(1)
            await client.reply(job.id, "again")
            await ended(job)
            received = await endpoint.got(2)
            runs = [run async for run in client.temporal.list_workflows(f"WorkflowId = '{job.id}'")]

    assert len(runs) > 2
    assert told(endpoint) == ["job.ended", "job.ended"]
    assert len({each.headers["webhook-id"] for each in received}) == 2


async def test_notices_that_wait_for_a_new_run_are_not_lost(host: Host) -> None:
    ledger = Ledger()
    settings = type(QUICK)(**{**vars(QUICK), "history_events": 8})
    async with receiver() as endpoint:
        agent = writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=[Webhook(endpoint.url)])
        async with host(agent, settings=settings) as client:
            job, (pending,) = await started(client, "w")
            for number in range(10):
                await job.steer(f"message {number}", id=f"m{number}")
            await endpoint.got(1)
            (again,) = await waiting(job)
            await job.approve(again.call, by="ann")
            await ended(job)
            await endpoint.got(2)

    assert told(endpoint) == ["decision.needed", "job.ended"]
    assert again.call == pending.call


async def test_a_job_that_is_terminated_leaves_its_deliveries_alone(host: Host) -> None:
    ledger, over = Ledger(), asyncio.Event()

    async def first(number: int) -> bytes:
        await over.wait()
        return answer(500 if number == 1 else 200)

    async with receiver(first) as endpoint:
        notify = [Webhook(endpoint.url, events=["job_ended", "unknown_outcome", "decision_needed"])]
        async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=notify)) as client:
            job, _ = await started(client, "w")
            await endpoint.got(1)
            await client.temporal.get_workflow_handle(job.id).terminate()
            over.set()
            await all_delivered(client, job, 1)

    assert told(endpoint) == ["decision.needed"]


async def test_a_job_that_is_cancelled_while_its_end_is_being_told_still_tells_it(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = notices._start

    async def late(batch: list[Notice]) -> None:
        await workflow.sleep(1)
        await start(batch)

    monkeypatch.setattr(notices, "_start", late)
    async with receiver() as endpoint:
        agent = Agent("w", Script([{"text": "done"}]), notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            job = await client.start("w", "go")
            await until(lambda: events(client.temporal, job.id), lambda seen: "TIMER_STARTED" in seen)
            await job.cancel()
            outcome = await job.outcome()
            (notice,) = await endpoint.got(1)

    assert (outcome.status, notice.json["data"]["status"]) == ("complete", "complete")


async def test_a_name_that_is_taken_costs_the_notice_and_not_the_job(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver() as endpoint:
        agent = Agent("w", Script([{"text": "done"}]), notify=[Webhook(endpoint.url)])
        async with host(agent) as client:
            monkeypatch.setattr("workflows.notices.name", lambda: client.task_queue)
            holder = await client.temporal.start_workflow(
                "Nothing", id=client.task_queue, task_queue="nobody", execution_timeout=timedelta(minutes=1)
            )
            job = await client.start("w", "go")
            outcome = await job.outcome()
            await holder.terminate()

    assert outcome.status == "complete"
    assert endpoint.received == []


async def test_lists_show_no_deliveries(host: Host) -> None:
    ledger = Ledger()
    async with host(
        writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=[Webhook("http://127.0.0.1:9/refused")])
    ) as client:
        job, _ = await started(client, "w")
        await until(lambda: deliveries(client, job))
        rows = await client.jobs()
        items = await client.inbox()
        running: Any = await client.temporal.count_workflows(
            f"TaskQueue = '{client.task_queue}' AND SurefootState = 'running'"
        )
        await job.cancel()
        await ended(job)

    assert [row.job for row in rows if row.job.startswith("notices-")] == []
    assert [item.tool for item in items if item.job == job.id] == ["save"]
    assert running.count == 0
