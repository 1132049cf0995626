"""A denied call is never executed, on no path; and it is not asked about again."""

from temporalio.client import WorkflowHandle

from activities.agents import Agent
from activities.providers.scripted import Script
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer
from workflows.contracts import Limits

DENIED = "Denied by ann: no. The call was not executed; do not make it again with the same arguments."


async def test_alone(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        applied = await job.deny(pending.call, reason="no", by="ann")
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert applied.decided is not None
    assert (applied.decided.choice, applied.decided.text, applied.decided.performed) == ("deny", "no", True)
    assert (result.status, result.content) == ("denied", DENIED)
    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.usage.tool_calls) == ("complete", 0)
    assert ledger.written == []


async def test_without_a_reason(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.deny(pending.call, by="ann")
        await ended(job)
        (result,) = results(await job.transcript())

    assert result.content == DENIED.replace(": no.", ".")
    assert ledger.written == []


async def test_among_other_calls_of_its_turn(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool(), ledger.tool("find", read_only=True), ledger.tool("log", policy="allow")]
    calls = [call("find", key="1"), call("save", key="2"), call("find", key="3"), call("save", key="4"),
             call("log", key="5")]  # fmt: skip
    async with host(writer("w", calls, tools=tools)) as client:
        job, (first, second) = await started(client, "w", 2)
        await job.approve(second.call, by="ann")
        await job.deny(first.call, reason="no", by="ann")
        await ended(job)
        said = results(await job.transcript())

    assert ledger.written == ["find 1", "find 3", "save 4", "log 5"]
    assert [(r.call, r.status) for r in said] == [
        ("c1-1", "ok"), ("c1-2", "denied"), ("c1-3", "ok"), ("c1-4", "ok"), ("c1-5", "ok"),
    ]  # fmt: skip


async def test_in_the_last_round(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()], limits=Limits(rounds=1))
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        await job.deny(pending.call, by="ann")
        last = await ended(job)

    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.answer) == ("complete", "done")
    assert ledger.written == []


async def test_in_a_closing_call_that_asks_for_it_again(host: Host) -> None:
    ledger = Ledger()
    again = {"calls": [call("save", key="a")]}
    script = Script([again, {"calls": [call("find", key="b")]}], closing=again)
    tools = [ledger.tool(), ledger.tool("find", read_only=True)]
    async with host(Agent("w", script, tools=tools, limits=Limits(rounds=1))) as client:
        job, (pending,) = await started(client, "w")
        await job.deny(pending.call, by="ann")
        last = await ended(job)
        said = results(await job.transcript())

    assert last.outcome is not None
    assert last.outcome.status == "hit_iteration_cap"
    assert [r.status for r in said] == ["denied", "not_executed", "not_executed"]
    assert ledger.written == []


async def test_with_a_worker_restart_between_denial_and_what_follows(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a"), call("save", key="b")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first, second) = await started(client, "w", 2)
        await job.deny(first.call, reason="no", by="ann")
    async with host(agent):
        (still,) = await waiting(job)
        await job.approve(still.call, by="ann")
        await ended(job)

    assert still.call == second.call
    assert ledger.written == ["save b"]


async def test_decided_while_no_worker_was_up(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        handle: WorkflowHandle[object, object] = client.temporal.get_workflow_handle(job.id)
    word = {"call": pending.call, "digest": pending.digest, "choice": "deny", "text": "no", "by": "ann"}
    await handle.signal("decide", word)
    async with host(agent):
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert [(d.choice, d.by) for d in last.decided] == [("deny", "ann")]
    assert result.content == DENIED
    assert ledger.written == []


async def test_the_same_call_again_is_refused_without_asking(host: Host) -> None:
    ledger = Ledger()
    again = [call("save", key="a"), call("save", key="b")]
    agent = writer("w", [call("save", key="a")], again, tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        await job.deny(pending.call, reason="no", by="ann")
        (other,) = await until(lambda: waiting(job), lambda waits: waits[0].call != pending.call)
        await job.approve(other.call, by="ann")
        last = await ended(job)
        said = results(await job.transcript())

    assert other.call == "c2-2"
    assert [d.call for d in last.decided] == ["c1-1", "c2-2"]
    assert [(r.call, r.status) for r in said] == [("c1-1", "denied"), ("c2-1", "denied"), ("c2-2", "ok")]
    assert said[1].content == "Denied: exactly this call was denied before, and was not executed. Do not make it again."
    assert ledger.written == ["save b"]


async def test_a_new_message_of_a_person_lets_the_same_call_be_asked_for_again(host: Host) -> None:
    ledger = Ledger()
    asks: dict[str, object] = {"calls": [call("save", key="a")]}
    replies: list[dict[str, object]] = [asks, {"text": "well then"}, asks, {"text": "saved"}]
    async with host(Agent("w", Script(replies), tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.deny(pending.call, by="ann")
        await ended(job)
        await client.reply(job.id, "do it after all")
        (second,) = await waiting(job)
        await job.approve(second.call, by="ann")
        last = await ended(job)

    assert last.outcome is not None
    assert last.outcome.answer == "saved"
    assert ledger.written == ["save a"]


async def test_identical_twins_are_two_calls_with_a_decision_each(host: Host) -> None:
    ledger = Ledger()
    twins = [call("save", key="a"), call("save", key="a")]
    async with host(writer("w", twins, tools=[ledger.tool()])) as client:
        job, (first, second) = await started(client, "w", 2)
        await job.deny(first.call, by="ann")
        (still,) = await waiting(job)
        await job.approve(second.call, by="bob")
        last = await ended(job)
        said = results(await job.transcript())

    assert first.digest == second.digest
    assert still.call == second.call
    assert [(d.call, d.choice, d.by) for d in last.decided] == [("c1-1", "deny", "ann"), ("c1-2", "approve", "bob")]
    assert [(r.call, r.status) for r in said] == [("c1-1", "denied"), ("c1-2", "ok")]
    assert ledger.written == ["save a"]
