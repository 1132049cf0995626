"""Decisions that come before their call, twice, or two hundred times."""

import uuid

from activities.policy import ask_if
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, waiting, writer
from workflows.contracts import Decision, JobStart
from workflows.digest import digest

SAVE_A = digest("save", {"key": "a"})


def word(choice: str = "approve", call: str = "c1-1", digest: str = SAVE_A, by: str = "ann") -> Decision:
    return Decision.model_validate({"call": call, "digest": digest, "choice": choice, "by": by})


async def test_a_decision_that_came_before_its_call_counts(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="b")], [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        await client.temporal.get_workflow_handle(job.id).signal("decide", word(call="c2-1"))
        await job.approve(first.call, by="bob")
        last = await ended(job)

    assert ledger.written == ["save b", "save a"]
    assert [(d.call, d.by) for d in last.decided] == [("c1-1", "bob"), ("c2-1", "ann")]


async def test_a_decision_that_came_before_the_jobs_first_task_counts(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        queue, temporal = client.task_queue, client.temporal
    job = f"w-{uuid.uuid4().hex[:8]}"
    await temporal.start_workflow(
        "AgentJob", JobStart(agent="w", message="go"), id=job, task_queue=queue,
        start_signal="decide", start_signal_args=[word()],
    )  # fmt: skip
    async with host(agent) as client:
        last = await ended(client.job(job))

    assert ledger.written == ["save a"]
    assert [(d.call, d.by) for d in last.decided] == [("c1-1", "ann")]


async def test_an_early_decision_for_other_arguments_decides_nothing_and_is_noted(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="b")], [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        await client.temporal.get_workflow_handle(job.id).signal("decide", word(call="c2-1", digest="0" * 64))
        await job.approve(first.call, by="bob")
        view = await until(job.view, lambda view: any(p.problem for p in view.pending))
        before = list(ledger.written)
        await job.approve("c2-1", by="bob")
        await ended(job)

    (pending,) = view.pending
    assert pending.problem is not None
    assert pending.problem.startswith("call c2-1 waits with arguments of digest")
    assert before == ["save b"]
    assert ledger.written == ["save b", "save a"]


async def test_early_decisions_are_not_kept_beyond_the_end_of_the_job(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="b")], [call("save", key="c")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        for number in range(2, 9):
            await client.temporal.get_workflow_handle(job.id).signal(
                "decide", word(call=f"c{number}-1", digest=digest("save", {"key": "c"}))
            )
        await job.cancel()
        await ended(job)
        await client.reply(job.id, "go on")
        (second,) = await waiting(job)
        before = list(ledger.written)
        await job.cancel()
        await ended(job)

    assert first.call == "c1-1"
    assert second.arguments == {"key": "c"}
    assert before == []


async def test_more_early_decisions_than_are_kept_leave_the_job_alive(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="b")], [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        large = word(call="c2-1").model_copy(update={"text": "x" * 100_000})
        await handle.signal("decide", large)
        await handle.signal("decide", word(call="c2-1"))
        for number in range(150):
            await handle.signal("decide", word(call=f"c9-{number}"))
        await job.approve(first.call, by="bob")
        (second,) = await waiting(job)
        await job.approve(second.call, by="bob")
        last = await ended(job)

    assert ledger.written == ["save b", "save a"]
    assert [d.by for d in last.decided] == ["bob", "bob"]


async def test_an_early_decision_is_used_when_policy_starts_to_ask_at_the_last_moment(host: Host) -> None:
    ledger = Ledger()
    looked: list[str] = []

    def second_look(key: str) -> bool:
        looked.append(key)
        return looked.count(key) > 1

    late = ledger.tool(policy=["allow", ask_if(second_look)])
    agent = writer("w", [call("save", key="b")], [call("save", key="a")], tools=[late])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        await client.temporal.get_workflow_handle(job.id).signal("decide", word(call="c2-1"))
        await job.approve(first.call, by="bob")
        last = await ended(job)

    assert ledger.written == ["save b", "save a"]
    assert [(d.call, d.by) for d in last.decided] == [("c1-1", "bob"), ("c2-1", "ann")]


async def test_two_hundred_signals_of_one_decision_are_one(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], [call("save", key="b")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, _ = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        for _ in range(200):
            await handle.signal("decide", word())
        (second,) = await until(lambda: waiting(job), lambda waits: waits[0].call == "c2-1")
        await job.approve(second.call, by="bob")
        last = await ended(job)

    assert ledger.written == ["save a", "save b"]
    assert [(d.call, d.by) for d in last.decided] == [("c1-1", "ann"), ("c2-1", "bob")]
