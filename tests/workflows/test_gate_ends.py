"""A job that ends while a person is awaited: nothing runs, nothing stays in the inbox, the transcript stays whole."""

from collections.abc import Awaitable, Callable

import pytest

from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, cli, ended, recorded, results, started, waiting, writer

CALLS = [call("find", key="a"), call("save", key="b"), call("save", key="c")]


async def inbox_of(client: Client, job: Job) -> list[str]:
    return [item.call for item in await client.inbox() if item.job == job.id]


async def is_empty(client: Client, job: Job) -> None:
    await until(lambda: inbox_of(client, job), lambda calls: calls == [])


async def test_stop_while_a_decision_waits_ends_with_a_closing_answer(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", CALLS, tools=[ledger.tool(), ledger.tool("find", read_only=True)])
    async with host(agent) as client:
        job, (first, _) = await started(client, "w", 2)
        await until(lambda: inbox_of(client, job), lambda calls: len(calls) == 2)
        await job.stop(by="ann")
        last = await ended(job)
        said = results(await job.transcript())
        await is_empty(client, job)

    assert last.outcome is not None
    assert last.outcome.status == "cancelled"
    assert last.outcome.answer is not None
    assert [(r.call, r.status) for r in said] == [("c1-1", "ok"), ("c1-2", "not_executed"), ("c1-3", "not_executed")]
    assert said[1].content == "Not executed: the job was stopped by a person."
    assert [n.call for n in last.outcome.not_done] == [first.call, "c1-3"]
    assert ledger.written == ["find a"]


async def test_cancel_while_a_decision_waits_ends_at_once_without_a_model_call(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", CALLS, tools=[ledger.tool(), ledger.tool("find", read_only=True)])
    async with host(agent) as client:
        job, _ = await started(client, "w", 2)
        before = await job.view()
        await job.cancel()
        last = await ended(job)
        said = results(await job.transcript())
        await is_empty(client, job)

    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.answer) == ("cancelled", None)
    assert last.outcome.usage.model_calls == before.usage.model_calls == 1
    assert [r.status for r in said] == ["ok", "not_executed", "not_executed"]
    assert ledger.written == ["find a"]


async def test_an_approved_call_behind_one_that_waits_does_not_run_after_a_stop(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", CALLS, tools=[ledger.tool(), ledger.tool("find", read_only=True)])
    async with host(agent) as client:
        job, (_, second) = await started(client, "w", 2)
        await job.approve(second.call, by="ann")
        await job.stop()
        last = await ended(job)

    assert [(d.call, d.performed) for d in last.decided] == [("c1-3", False)]
    assert ledger.written == ["find a"]


async def test_terminated_leaves_nothing_in_the_inbox_and_a_reply_goes_on(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", CALLS, tools=[ledger.tool(), ledger.tool("find", read_only=True)])
    async with host(agent) as client:
        job, _ = await started(client, "w", 2)
        await until(lambda: inbox_of(client, job), lambda calls: len(calls) == 2)
        code, text = await cli(client, "workflow", "terminate", "-w", job.id, "--reason", "test")
        await is_empty(client, job)
        terminated = await job.view()
        await client.reply(job.id, "go on")
        last = await ended(job)
        said = results(await job.transcript())

    assert code == 0, text
    assert terminated.outcome is not None
    assert (terminated.state, terminated.outcome.status) == ("ended", "failed")
    assert "TERMINATED" in (terminated.outcome.error or "")
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert [(r.call, r.status) for r in said] == [("c1-1", "ok"), ("c1-2", "not_executed"), ("c1-3", "not_executed")]
    assert ledger.written == ["find a"]


async def test_a_pause_while_a_decision_waits_is_seen_and_holds_what_was_approved(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.pause()
        rows = await until(lambda: client.jobs(state="paused"), lambda rows: job.id in [row.job for row in rows])
        in_inbox = await inbox_of(client, job)
        await job.approve(pending.call, by="ann")
        view = await job.view()
        held = list(ledger.written)
        await job.resume()
        await ended(job)

    assert [row.state for row in rows if row.job == job.id] == ["paused"]
    assert in_inbox == [pending.call]
    assert (view.state, view.pending) == ("paused", [])
    assert held == []
    assert ledger.written == ["save a"]


END: dict[str, Callable[[Job], Awaitable[None]]] = {"stop": Job.stop, "cancel": Job.cancel}


@pytest.mark.parametrize("end", END)
async def test_an_edit_that_is_being_checked_when_the_job_ends_does_not_run(host: Host, end: str) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        word = {"call": pending.call, "digest": pending.digest, "choice": "approve", "arguments": {"key": "b"}}
        await END[end](job)
        await handle.signal("decide", word)
        last = await ended(job)

    assert last.outcome is not None
    assert last.outcome.status == "cancelled"
    assert ledger.written == []


async def test_a_worker_restart_while_a_decision_waits_loses_nothing(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, _ = await started(client, "w")
        (pending,) = await recorded(client, job)
    for _ in range(2):
        async with host(agent):
            (still,) = await waiting(job)
            assert still == pending
    async with host(agent):
        await job.approve(pending.call, by="ann")
        await ended(job)

    assert ledger.written == ["save a"]


async def test_what_was_approved_during_a_pause_does_not_run_when_the_pause_ends_with_a_stop(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.pause()
        await until(lambda: client.jobs(state="paused"), lambda rows: job.id in [row.job for row in rows])
        await job.approve(pending.call, by="ann")
        await job.stop(by="ann")
        last = await ended(job)
        said = results(await job.transcript())

    assert ledger.written == []
    assert last.outcome is not None
    assert last.outcome.status == "cancelled"
    assert [(r.call, r.status) for r in said] == [("c1-1", "not_executed")]
    assert [(d.choice, d.performed) for d in last.decided] == [("approve", False)]
