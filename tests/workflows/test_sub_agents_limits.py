"""One allowance for the family: what children spend is their parent's, and they may not spend more than it has left."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from activities.tools.tool import Tool, tool
from tests.conftest import Host
from tests.waiting import Flag, until
from tests.workflows.families import DONE, child, child_waits, desk, has_child, researcher
from tests.workflows.gated import Ledger, results
from tests.workflows.scripting import call, calls, look_up, looks
from workflows.contracts import Limits

FREE = Limits(rounds=None, tool_calls=None)


def costing(tokens: int, reply: Mapping[str, Any]) -> dict[str, Any]:
    return {**reply, "usage": {"input_tokens": tokens, "output_tokens": 0, "cost_usd": tokens / 64}}


def held(flag: Flag) -> Tool:
    @tool(read_only=True)
    async def hold() -> str:
        """Takes as long as the test wants."""
        await flag.wait()
        return "held"

    return hold


async def test_what_a_child_spends_is_in_its_parents_usage_once(host: Host) -> None:
    asked = researcher(costing(100, looks("a", "b")), costing(50, {"text": "both"}))
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        usage = (await job.outcome()).usage
        its = (await child(client, job).outcome()).usage
        own = [entry.usage for entry in await job.transcript() if entry.kind == "turn"]

    assert (its.tokens, its.cost_usd, its.model_calls, its.tool_calls) == (150, 150 / 64, 2, 2)
    assert usage.tokens == sum(each.tokens for each in own) + 150
    assert (usage.cost_usd, usage.model_calls, usage.tool_calls) == (150 / 64, 4, 3)


async def test_what_a_failed_child_spent_is_charged_too(host: Host) -> None:
    asked = researcher(costing(100, looks("a")), {"error": {"kind": "Rejected", "message": "no"}})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        (told,) = results(await job.transcript())

    assert (outcome.status, told.status) == ("complete", "error")
    assert "It had found:\nlook_up: value of a" in told.content
    assert (outcome.usage.cost_usd, outcome.usage.failed_attempts) == (100 / 64, 1)


async def test_a_parent_whose_child_used_up_its_tokens_closes(host: Host) -> None:
    asked = researcher(costing(900, looks("a")), costing(0, {"text": "it is a"}))
    async with host(desk(asked, limits=Limits(tokens=500))) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        its = await child(client, job).view()

    assert outcome.status == "hit_token_cap"
    assert its.outcome is not None
    assert its.outcome.status == "hit_token_cap"


async def test_children_side_by_side_divide_what_is_left_and_all_have_the_same_time(host: Host) -> None:
    flag = Flag()
    asked = researcher(calls(call("hold")), {"text": "x"}, tools=[held(flag)])
    limits = Limits(tool_calls=8, tokens=1_000, cost_usd=2.0, seconds=600.0)
    async with host(desk(asked, times=2, limits=limits)) as client:
        job = await client.start("desk", "go")
        view = await has_child(job, 2)
        lent = [(await child(client, job, each.call).view()).lent for each in view.children]
        flag.set()
        await job.outcome()

    first = lent[0]
    assert first is not None
    assert lent == [first, first]
    assert (first.rounds, first.tool_calls) == (None, 3)
    assert (first.tokens, first.cost_usd) == ((1_000 - view.usage.tokens) // 2, 1.0)
    assert first.seconds is not None
    assert 590 < first.seconds < 600


async def test_a_childs_own_stricter_limits_hold_and_its_last_words_are_the_result(host: Host) -> None:
    asked = researcher(looks("a"), looks("b"), {"text": "so far: a"}, limits=Limits(rounds=1))
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        (told,) = results(await job.transcript())

    assert outcome.status == "complete"
    assert told.status == "ok"
    assert told.content.startswith("[the agent ended before it was done: The job ended after 1 round and 1 tool call: ")
    assert "step limit" in told.content


async def test_calls_of_a_child_use_up_its_parents_calls(host: Host) -> None:
    asked = researcher(looks("a", "b"), {"text": "both"})
    agent = desk(asked, tools=[look_up], limits=Limits(tool_calls=3))
    async with host(agent) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        its = await child(client, job).view()

    assert (outcome.status, outcome.usage.tool_calls) == ("complete", 3)
    assert its.lent == Limits(rounds=None, tool_calls=2)


async def test_a_child_without_calls_left_may_still_answer(host: Host) -> None:
    asked = researcher(looks("a"), DONE)
    async with host(desk(asked, limits=Limits(tool_calls=1))) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        its = await child(client, job).outcome()

    assert (its.status, outcome.status) == ("hit_tool_call_cap", "complete")


async def test_time_in_which_a_child_waits_for_a_person_counts_for_nobody(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), {"text": "saved"}, tools=[ledger.tool()])
    async with host(desk(asked, limits=Limits(seconds=2.0))) as client:
        job = await client.start("desk", "go")
        (pending,) = (await child_waits(client, job)).pending
        await until(lambda: _passed(pending.asked_at + timedelta(seconds=2.2)))
        await child(client, job).approve(pending.call, by="bob")
        outcome = await job.outcome()
        view = await job.view()
        its = await child(client, job).view()

    assert (outcome.status, ledger.written) == ("complete", ["save a"])
    assert view.spent.seconds < 2
    assert its.spent.seconds < 2


async def test_time_in_which_a_child_works_counts_for_its_parent(host: Host) -> None:
    asked = researcher({"text": "slow", "seconds": 0.7})
    async with host(desk(asked, limits=Limits(seconds=0.6))) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        view = await job.view()

    assert outcome.status == "hit_wall_clock"
    assert view.spent.seconds >= 0.7


async def test_a_grandchild_spends_from_both(host: Host) -> None:
    last = researcher(costing(100, {"text": "deep"}), name="last")
    middle = researcher(
        costing(10, calls(call("last", message="go"))),
        costing(10, {"text": "{result:1}"}),
        name="middle",
        tools=[last.as_tool("Asks last.")],
    )
    async with host(desk(middle)) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        its = await child(client, job).outcome()

    assert outcome.answer == "they say: deep"
    assert (its.usage.cost_usd, outcome.usage.cost_usd) == (120 / 64, 120 / 64)
    assert (its.usage.tool_calls, outcome.usage.tool_calls) == (1, 2)


async def _passed(at: datetime) -> bool:
    return datetime.now(UTC) >= at
