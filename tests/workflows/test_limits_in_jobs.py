"""Each limit, in a running job: how far it gets, how it ends, and what a reply starts anew."""

import asyncio

import pytest

from activities.agents import Agent
from activities.providers.protocol import ModelRequest
from activities.tools.tool import tool
from tests.conftest import Host
from tests.workflows.scripting import call, calls, kinds, look_up, looks, note, watched
from workflows.contracts import Limits, Outcome, Result, Status

FREE = Limits(rounds=None, tool_calls=None)


@tool(policy="allow")
async def ponder(text: str) -> str:
    """Take longer than the job may."""
    await asyncio.sleep(1.5)
    return f"pondered {text}"


def contents(transcript: object) -> list[str]:
    assert isinstance(transcript, list)
    return [entry.content for entry in transcript if isinstance(entry, Result)]


@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_as_many_rounds_as_allowed_then_the_next_call_may_still_complete(host: Host, rounds: int) -> None:
    script, asked = watched(*[looks(f"k{n}") for n in range(rounds)], {"text": "done"})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=rounds))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer, outcome.requires_human) == ("complete", "done", False)
    assert [request.tool_choice for request in asked] == ["auto"] * (rounds + 1)


@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_after_the_last_round_calls_are_not_executed_and_the_closing_call_follows(
    host: Host, rounds: int
) -> None:
    script, asked = watched(*[looks(f"k{n}", f"l{n}") for n in range(rounds + 1)])
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=rounds))) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()
        view = await job.view()

    refused = "Not executed: the step limit for this answer was reached."
    assert (outcome.status, outcome.answer, outcome.requires_human) == ("hit_iteration_cap", "summed up", True)
    assert [request.tool_choice for request in asked] == ["auto"] * (rounds + 1) + ["none"]
    assert kinds(transcript) == "M" + "TRR" * (rounds + 1) + "T"
    assert contents(transcript)[-2:] == [refused, refused]
    assert [(missed.arguments, missed.why) for missed in outcome.not_done] == [
        ({"key": f"k{rounds}"}, refused),
        ({"key": f"l{rounds}"}, refused),
    ]
    assert [finding.content for finding in outcome.findings] == [
        f"value of {k}{n}" for n in range(rounds) for k in "kl"
    ]
    assert (view.rounds, view.tool_calls) == (rounds, 2 * rounds)


async def test_calls_that_can_not_be_made_use_up_rounds_too(host: Host) -> None:
    script, asked = watched(*[calls(call("nope", n=n)) for n in range(9)])
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=2))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert outcome.status == "hit_iteration_cap"
    assert len(asked) == 4


async def test_a_turn_cut_off_after_the_last_round_is_followed_by_the_closing_call(host: Host) -> None:
    script, asked = watched(looks("a"), looks("b") | {"stop": "max_tokens"})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=1))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("hit_iteration_cap", "summed up")
    assert len(asked) == 3


async def test_of_more_calls_than_are_left_those_that_fit_run_and_the_job_closes(host: Host) -> None:
    script, asked = watched(looks("a", "b"), looks("c", "d", "e"))
    async with host(Agent("a", script, tools=[look_up], limits=Limits(tool_calls=3))) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    refused = "Not executed: the limit of tool calls for this answer was reached."
    assert (outcome.status, outcome.answer, outcome.requires_human) == ("hit_tool_call_cap", "summed up", True)
    assert contents(transcript) == ["value of a", "value of b", "value of c", refused, refused]
    assert [missed.arguments for missed in outcome.not_done] == [{"key": "d"}, {"key": "e"}]
    assert outcome.usage.tool_calls == 3
    assert [request.tool_choice for request in asked] == ["auto", "auto", "none"]


async def test_exactly_as_many_calls_as_are_left_run_and_the_next_answer_completes(host: Host) -> None:
    script, _ = watched(looks("a", "b"), looks("c"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(tool_calls=3))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer, outcome.not_done) == ("complete", "done", [])


async def test_calls_that_never_run_leave_the_places_of_a_turn_to_the_others(host: Host) -> None:
    made = calls(call("nope"), call("look_up", wrong=1), call("look_up", key="denied"), call("look_up", key="a"))
    agent_limits = Limits(tool_calls=1)
    script, _ = watched(made, {"text": "done"})
    agent = Agent("a", script, tools=[look_up], limits=agent_limits, policy={"look_up": lambda key: _deny(key)})
    async with host(agent) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert [result.status for result in results] == ["error", "error", "denied", "ok"]
    assert outcome.usage.tool_calls == 1


def _deny(key: str) -> str:
    return "deny" if key == "denied" else "allow"


SPENDERS: list[tuple[Limits, dict[str, object], Status]] = [
    (Limits(tokens=100), {"input_tokens": 30, "output_tokens": 20}, "hit_token_cap"),
    (Limits(cost_usd=0.5), {"cost_usd": 0.25}, "hit_cost_cap"),
]


@pytest.mark.parametrize(("limits", "usage", "status"), SPENDERS)
async def test_tokens_and_cost_are_looked_at_before_each_model_call(
    host: Host, limits: Limits, usage: dict[str, object], status: Status
) -> None:
    script, asked = watched(*[looks(f"k{n}") | {"usage": usage} for n in range(9)])
    async with host(Agent("a", script, tools=[look_up], limits=limits)) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer, outcome.requires_human) == (status, "summed up", True)
    assert [request.tool_choice for request in asked] == ["auto", "auto", "none"]
    # The second call reached the limit, so that its tool did not run any more.
    assert contents(transcript)[0] == "value of k0"
    assert contents(transcript)[1].startswith("Not executed: the ")
    assert [missed.arguments for missed in outcome.not_done] == [{"key": "k1"}]


async def test_what_was_answered_with_the_last_token_still_counts(host: Host) -> None:
    script, _ = watched({"text": "done", "usage": {"input_tokens": 500}})
    async with host(Agent("a", script, limits=Limits(tokens=100))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("complete", "done")


async def test_time_is_looked_at_before_every_step(host: Host) -> None:
    script, asked = watched(calls(call("note", text="a"), call("note", text="b")) | {"seconds": 0.3})
    async with host(Agent("a", script, tools=[note], limits=Limits(seconds=0.25))) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    refused = "Not executed: the time limit for this answer was reached."
    assert (outcome.status, outcome.answer, outcome.requires_human) == ("hit_wall_clock", "summed up", True)
    assert contents(transcript) == [refused, refused]
    assert len(asked) == 2


async def test_time_that_ends_during_a_write_leaves_the_one_behind_it(host: Host) -> None:
    script, _ = watched(calls(call("ponder", text="a"), call("ponder", text="b")))
    async with host(Agent("a", script, tools=[ponder], limits=Limits(seconds=1.2))) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    refused = "Not executed: the time limit for this answer was reached."
    assert outcome.status == "hit_wall_clock"
    assert contents(transcript) == ["pondered a", refused]
    assert outcome.usage.tool_calls == 1


async def test_a_reply_starts_a_new_allowance_of_the_same_size(host: Host) -> None:
    script, asked = watched(*[looks(f"k{n}") for n in range(9)])
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go", limits=Limits(rounds=1))
        await job.outcome()
        first = len(asked)
        await client.reply(job.id, "yes, go on")
        again = await job.outcome()
        second = len(asked) - first
        await client.reply(job.id, "and more", limits=Limits(rounds=2))
        last = await job.outcome()
        third = len(asked) - first - second
        transcript = await job.transcript()

    assert (first, second, third) == (3, 3, 4)
    assert (again.status, last.status) == ("hit_iteration_cap", "hit_iteration_cap")
    assert kinds(transcript) == "MTRTRTMTRTRTMTRTRTRT"
    assert last.usage.tool_calls == 4


@pytest.mark.parametrize("given", ["agent", "start"])
async def test_a_total_is_not_renewed_by_replies(host: Host, given: str) -> None:
    script, asked = watched(looks("a"), looks("b"), {"text": "first"}, looks("c"), looks("d"))
    total = Limits(tool_calls=3)
    agent = Agent("a", script, tools=[look_up], limits=FREE, total=total if given == "agent" else None)
    async with host(agent) as client:
        job = await client.start("a", "go", total=total if given == "start" else None)
        first = await job.outcome()
        await client.reply(job.id, "go on")
        second = await job.outcome()

    assert (first.status, second.status) == ("complete", "hit_tool_call_cap")
    assert second.usage.tool_calls == 3
    assert [missed.arguments for missed in second.not_done] == [{"key": "d"}]
    assert len(asked) == 6


async def test_a_total_limits_only_what_it_names(host: Host) -> None:
    script, _ = watched(*[looks(f"k{n}") for n in range(11)], {"text": "done"})
    async with host(Agent("a", script, tools=[look_up], limits=FREE)) as client:
        outcome = await (await client.start("a", "go", total=Limits(tool_calls=100))).outcome()

    assert outcome.status == "complete"


async def test_a_total_that_is_spent_leaves_a_reply_its_closing_call_alone(host: Host) -> None:
    script, asked = watched({"text": "first", "usage": {"input_tokens": 100}})
    async with host(Agent("a", script, limits=FREE, total=Limits(tokens=100))) as client:
        job = await client.start("a", "go")
        first = await job.outcome()
        await client.reply(job.id, "more")
        second = await job.outcome()

    assert (first.status, second.status, second.answer) == ("complete", "hit_token_cap", "summed up")
    assert [request.tool_choice for request in asked] == ["auto", "none"]


def _instructions(asked: list[ModelRequest]) -> list[str]:
    return [request.instructions for request in asked]


async def test_the_model_is_told_of_the_loop_in_words_without_numbers(host: Host) -> None:
    script, asked = watched(looks("a"), {"text": "done"})
    async with host(Agent("a", script, "Be brief.", tools=[look_up], limits=Limits(rounds=7, tokens=10**6))) as client:
        await (await client.start("a", "go")).outcome()

    said = set(_instructions(asked))
    assert len(said) == 1
    (text,) = said
    assert text.startswith("Be brief.\n\nYou work in a bounded loop")
    assert "Stop calling tools as soon as you know enough" in text
    assert not any(letter.isdigit() for letter in text)


async def test_a_limit_keeps_all_that_was_found(host: Host) -> None:
    script, _ = watched(*[looks(f"k{n}", f"l{n}") for n in range(30)])
    outcome: Outcome
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=25, tool_calls=None))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    # The last forty of fifty: an outcome has to stay small; the transcript has them all.
    assert [finding.content for finding in outcome.findings] == [f"value of {k}{n}" for n in range(5, 25) for k in "kl"]
    assert outcome.summary == (
        "The job ended after 25 rounds and 50 tool calls: the step limit for this answer was reached."
    )
