"""A family that is cancelled, stopped or paused: what reaches the children, and what their parent says of them."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import Flag, until
from tests.workflows.families import child, child_waits, desk, has_child, researcher
from tests.workflows.gated import Ledger, cli, results
from tests.workflows.scripting import call, calls, look_up, looks
from tests.workflows.states import assert_paired
from workflows.contracts import JobView, Outcome
from workflows.words import CANCELLED_CALL


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 15)


class Holding:
    """A read tool that is entered, and held until the test lets it go."""

    def __init__(self) -> None:
        self.entered, self.let_go = Flag(), Flag()

        @tool(read_only=True)
        async def hold() -> str:
            """Takes as long as the test wants."""
            self.entered.set()
            await self.let_go.wait()
            return "held"

        self.tool = hold


async def test_cancel_reaches_a_working_child_and_its_parent_says_how_it_ended(host: Host) -> None:
    holding = Holding()
    asked = researcher(looks("a"), calls(call("hold")), {"text": "x"}, tools=[holding.tool, look_up])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await holding.entered.wait()
        await job.cancel(by="ann")
        outcome = await soon(job)
        its = await child(client, job).view()
        (told,) = results(await job.transcript())
        view = await job.view()
        holding.let_go.set()

    assert (outcome.status, told.status) == ("cancelled", "error")
    assert its.outcome is not None
    assert its.outcome.status == "cancelled"
    assert "It had found:\nlook_up: value of a" in told.content
    assert [each.status for each in view.children] == ["cancelled"]
    assert outcome.usage.model_calls == 1 + its.outcome.usage.model_calls


async def test_cancel_reaches_a_child_that_waits_and_nothing_stays_in_the_inbox(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        await job.cancel()
        outcome = await soon(job)
        audit = await child(client, job).audit()
        await until(client.inbox, lambda items: all(item.parent != job.id for item in items))
        await client.reply(job.id, "go on")
        again = await soon(job)
        assert_paired(await job.transcript())

    assert (outcome.status, again.status, ledger.written) == ("cancelled", "complete", [])
    assert [(each.deed, each.by) for each in audit] == [("cancelled", f"job {job.id}")]


async def test_cancel_reaches_a_grandchild(host: Host) -> None:
    ledger = Ledger()
    last = researcher(calls(call("save", key="a")), name="last", tools=[ledger.tool()])
    middle = researcher(calls(call("last", message="go")), name="middle", tools=[last.as_tool("Asks last.")])
    async with host(desk(middle)) as client:
        job = await client.start("desk", "go")
        await has_child(job)
        await child_waits(client, child(client, job))
        await job.cancel()
        outcome = await soon(job)
        family = [await soon(child(client, job)), await soon(child(client, child(client, job)))]

    assert [outcome.status, *(each.status for each in family)] == ["cancelled"] * 3


async def test_a_stop_lets_children_say_what_they_have(host: Host) -> None:
    holding = Holding()
    asked = researcher(calls(call("hold")), {"text": "more"}, tools=[holding.tool])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await holding.entered.wait()
        await job.stop(by="ann")
        await until(child(client, job).audit, lambda deeds: [each.deed for each in deeds] == ["stopped"])
        holding.let_go.set()
        outcome = await soon(job)
        (told,) = results(await job.transcript())
        its = await child(client, job).outcome()

    assert (outcome.status, its.status, told.status) == ("cancelled", "cancelled", "ok")
    assert "the tools returned hold: held" in (its.answer or "")
    assert its.answer in told.content.splitlines()


@pytest.mark.parametrize(
    ("end", "result"),
    [
        (Job.stop, ("error", "The agent researcher could not be started: the job that asks is being ended. ")),
        (Job.cancel, ("not_executed", CANCELLED_CALL)),
    ],
)
async def test_an_end_while_policy_is_asked_starts_no_child(
    host: Host, end: Callable[[Job], Awaitable[None]], result: tuple[str, str]
) -> None:
    looks_at_it, let_go, asked_for = Flag(), threading.Event(), Counter[str]()

    def rule(message: str) -> str:
        asked_for[message] += 1
        if asked_for[message] == 2:  # the first time was with the turn
            looks_at_it.set()
            let_go.wait(4)
        return "allow"

    ask = researcher({"text": "x"}).as_tool("Asks.", policy=rule)
    async with host(Agent("desk", Script([calls(call("researcher", message="go"))]), tools=[ask])) as client:
        job = await client.start("desk", "go")
        await looks_at_it.wait()
        await end(job)
        await until(job.audit, lambda deeds: [each.deed for each in deeds] in (["stopped"], ["cancelled"]))
        let_go.set()
        outcome = await soon(job)
        (told,) = results(await job.transcript())
        view = await job.view()

    assert (outcome.status, told.status, view.children) == ("cancelled", result[0], [])
    assert told.content.startswith(result[1])


async def test_a_pause_of_the_parent_lets_a_child_go_on(host: Host) -> None:
    holding = Holding()
    asked = researcher(calls(call("hold")), {"text": "x"}, tools=[holding.tool])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await holding.entered.wait()
        await job.pause()
        holding.let_go.set()
        its = await soon(child(client, job))
        view = await until(job.view, lambda view: view.entries >= 4 and view.state == "paused")
        await job.resume()
        outcome = await soon(job)

    assert (its.status, outcome.status) == ("complete", "complete")
    assert view.outcome is None


async def test_a_child_that_is_cancelled_alone_is_an_error_to_its_parent(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        await child(client, job).cancel(by="bob")
        outcome = await soon(job)
        (told,) = results(await job.transcript())

    assert (outcome.status, told.status) == ("complete", "error")
    assert told.content.endswith("the job was stopped by a person.]\nIt had found nothing.")


async def test_a_child_that_is_terminated_is_an_error_and_its_cost_unmeasured(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        await cli(client, "workflow", "terminate", "--workflow-id", child(client, job).id, "--reason", "enough")
        outcome = await soon(job)
        (told,) = results(await job.transcript())

    assert (outcome.status, told.status, outcome.usage.unmeasured) == ("complete", "error", 1)
    assert told.content.startswith(f"What became of the agent researcher (job {job.id}.c1-1) is not known: ")


async def test_children_of_a_terminated_parent_are_cancelled(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        await cli(client, "workflow", "terminate", "--workflow-id", job.id, "--reason", "enough")
        its = await soon(child(client, job))
        await client.reply(job.id, "go on")
        outcome = await soon(job)
        view: JobView = await job.view()
        assert_paired(await job.transcript())

    assert (its.status, outcome.status, ledger.written) == ("cancelled", "complete", [])
    assert [each.status for each in view.children] == ["cancelled"]
