"""One policy for every kind of tool, looked at when a call is planned and again when it is about to run."""

from typing import Any

import pytest

from activities.agents import Agent
from activities.policy import Rule, ask_if, deny_if
from activities.providers.scripted import Script
from activities.tools.tool import Tool
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer


async def test_ask_then_deny_denies_what_a_person_had_approved(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("save", key="b")]
    denies = deny_if(lambda key: key == "b", reason="b is closed")
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (_, second) = await started(client, "w", 2)
        await job.approve(second.call, by="ann")
    async with host(writer("w", calls, tools=[ledger.tool(policy=denies)])):
        (first,) = await waiting(job)
        await job.approve(first.call, by="ann")
        last = await ended(job)
        said = results(await job.transcript())

    assert ledger.written == ["save a"]
    assert [(r.status, r.content) for r in said] == [
        ("ok", "save a done"), ("denied", "Denied by policy: b is closed. The call was not executed."),
    ]  # fmt: skip
    assert [(d.call, d.performed) for d in last.decided] == [("c1-2", False), ("c1-1", True)]


async def test_allow_then_ask_asks_before_the_call_runs(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("log", key="b")]
    preview = {"preview": lambda key: f"would log {key}"}
    asks = ask_if(lambda key: key == "b", reason="b is watched")
    before = [ledger.tool(), ledger.tool("log", policy="allow", **preview)]
    after = [ledger.tool(), ledger.tool("log", policy=asks, **preview)]
    async with host(writer("w", calls, tools=before)) as client:
        job, (first,) = await started(client, "w")
    async with host(writer("w", calls, tools=after)):
        await job.approve(first.call, by="ann")
        view = await until(job.view, lambda view: [(p.call, p.preview) for p in view.pending] == [
            ("c1-2", "would log b")
        ])  # fmt: skip
        written_before = list(ledger.written)
        await job.approve("c1-2", by="ann")
        last = await ended(job)

    assert (view.state, first.problem, view.pending[0].problem) == ("waiting", None, "b is watched")
    assert written_before == ["save a"]
    assert ledger.written == ["save a", "log b"]
    assert [(d.call, d.performed) for d in last.decided] == [("c1-1", True), ("c1-2", True)]


@pytest.mark.parametrize("kind", ["read_only", "pure"])
async def test_allow_then_ask_holds_for_reads_as_well_and_results_stay_in_order(host: Host, kind: str) -> None:
    ledger = Ledger()
    calls = [call("save", key="a"), call("find", key="b"), call("find", key="c"), call("look", key="d")]

    options: dict[str, Any] = {kind: True}

    def tools(policy: Rule | None) -> list[Tool]:
        return [
            ledger.tool(),
            ledger.tool("find", policy=policy, **options),
            ledger.tool("look", read_only=True),
        ]

    async with host(writer("w", calls, tools=tools(None))) as client:
        job, (first,) = await started(client, "w")
    async with host(writer("w", calls, tools=tools("ask"))):
        await job.approve(first.call, by="ann")
        await until(job.view, lambda view: [p.tool for p in view.pending] == ["find", "find"])
        b, c = await waiting(job, 2)
        written_before = list(ledger.written)
        await job.deny(b.call, by="ann")
        await job.approve(c.call, by="ann")
        await ended(job)
        said = results(await job.transcript())

    assert written_before == ["save a", "look d"]
    assert ledger.written == ["save a", "look d", "find c"]
    assert [(r.call, r.status) for r in said] == [
        ("c1-1", "ok"), ("c1-2", "denied"), ("c1-3", "ok"), ("c1-4", "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["write", "read_only", "pure"])
async def test_one_policy_holds_for_every_kind_of_tool(host: Host, kind: str) -> None:
    ledger = Ledger()
    options: dict[str, Any] = {} if kind == "write" else {kind: True}
    tools = [ledger.tool(policy, policy=policy, **options) for policy in ("allow", "ask", "deny")]
    calls = [call(policy, key=key) for policy in ("allow", "ask", "deny") for key in "ab"]
    async with host(writer("w", calls, tools=tools)) as client:
        job, (first, second) = await started(client, "w", 2)
        await job.deny(first.call, by="ann")
        await job.approve(second.call, by="ann")
        await ended(job)
        said = results(await job.transcript())

    assert ledger.written == ["allow a", "allow b", "ask b"]
    assert [r.status for r in said] == ["ok", "ok", "denied", "ok", "denied", "denied"]
    assert said[5].content == "Denied by policy: the policy says deny. The call was not executed."


@pytest.mark.parametrize("kind", ["write", "read_only", "pure"])
async def test_a_rule_that_raises_asks(host: Host, kind: str) -> None:
    ledger = Ledger()

    def broken(key: str) -> bool:
        raise RuntimeError("no idea")

    options: dict[str, Any] = {} if kind == "write" else {kind: True}
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool(policy=broken, **options)])) as client:
        job, (pending,) = await started(client, "w")
        written_before = list(ledger.written)
        await job.approve(pending.call, by="ann")
        await ended(job)

    assert written_before == []
    assert pending.problem == "the policy rule broken failed: RuntimeError: no idea"
    assert ledger.written == ["save a"]


async def test_ask_then_allow_still_waits_for_the_person_who_was_asked(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a")]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (first,) = await started(client, "w")
    async with host(writer("w", calls, tools=[ledger.tool(policy="allow")])):
        (still,) = await waiting(job)
        written_before = list(ledger.written)
        await job.approve(still.call, by="ann")
        await ended(job)

    assert still.call == first.call
    assert written_before == []
    assert ledger.written == ["save a"]


async def test_a_tool_that_is_gone_when_its_call_was_approved_is_told_and_not_run(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key="a")]
    script = Script([{"text": "I must", "calls": calls}, {"text": "done"}])
    async with host(Agent("w", script, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
    async with host(Agent("w", script, tools=[])):
        await job.approve(pending.call, by="ann")
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert (result.status, result.content) == ("error", "The tool save is no longer there; nothing was executed.")
    assert [d.performed for d in last.decided] == [False]
    assert ledger.written == []


async def test_arguments_that_no_longer_fit_the_tool_are_told_and_nothing_runs(host: Host) -> None:
    ledger = Ledger()

    def other(name: str) -> str:
        """Save something else."""
        ledger.written.append(name)
        return name

    calls = [call("save", key="a")]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
    async with host(writer("w", calls, tools=[Tool(other, name="save")])):
        await job.approve(pending.call, by="ann")
        await ended(job)
        (result,) = results(await job.transcript())

    assert result.status == "error"
    assert result.content.startswith("Invalid arguments; nothing was executed.")
    assert ledger.written == []
