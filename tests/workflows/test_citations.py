"""Agents whose answers must refer to results: asked again once, then told as it is."""

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from surefoot.client import Client
from tests.conftest import Host
from tests.workflows.scripting import kinds, look_up, looks, watched
from workflows.contracts import Limits, Note, Outcome, Result


async def outcome_of(client: Client) -> tuple[Outcome, str, list[str]]:
    job = await client.start("a", "go")
    outcome, transcript = await job.outcome(), await job.transcript()
    return outcome, kinds(transcript), [entry.text for entry in transcript if isinstance(entry, Note)]


async def test_an_answer_with_right_references_is_complete_and_the_outcome_has_them(host: Host) -> None:
    script, asked = watched(looks("a", "b"), {"text": "a is so [#c1-1], b so [#c1-2]"})
    async with host(Agent("a", script, tools=[look_up], cite=True)) as client:
        outcome, said, notes = await outcome_of(client)
        kept = await client.job((await client.jobs(agent="a", limit=1))[0].job).transcript()

    assert (outcome.status, outcome.citations, outcome.citation_problem) == ("complete", ["c1-1", "c1-2"], None)
    assert (said, notes) == ("MTRRT", [])
    assert "[#c1-1]" in asked[0].instructions
    shown = [entry.content for entry in asked[1].transcript if isinstance(entry, Result)]
    assert shown == ["[#c1-1]\nvalue of a", "[#c1-2]\nvalue of b"]
    assert [entry.content for entry in kept if isinstance(entry, Result)] == ["value of a", "value of b"]


async def test_a_made_up_reference_is_asked_for_again_once(host: Host) -> None:
    script, _ = watched(looks("a"), {"text": "so [#c7-1]"}, {"text": "so [#c1-1]"})
    async with host(Agent("a", script, tools=[look_up], cite=True)) as client:
        outcome, said, notes = await outcome_of(client)

    assert (outcome.status, outcome.answer, outcome.citations) == ("complete", "so [#c1-1]", ["c1-1"])
    assert said == "MTRTNT"
    assert "There is no result [#c7-1]. The references are: [#c1-1]." in notes[0]


@pytest.mark.parametrize(("again", "right"), [("so [#c8-1] and [#c1-1]", ["c1-1"]), ("so it is", [])])
async def test_what_is_still_wrong_then_is_reported(host: Host, again: str, right: list[str]) -> None:
    script, _ = watched(looks("a"), {"text": "so [#c7-1]"}, {"text": again})
    async with host(Agent("a", script, tools=[look_up], cite=True)) as client:
        outcome, said, _ = await outcome_of(client)

    assert (outcome.status, outcome.answer, outcome.citations) == ("complete", again, right)
    assert outcome.citation_problem is not None
    assert said == "MTRTNT"


async def test_each_message_of_a_person_is_asked_again_for(host: Host) -> None:
    script, _ = watched(looks("a"), {"text": "no"}, {"text": "no"}, {"text": "no"}, {"text": "[#c1-1]"})
    async with host(Agent("a", script, tools=[look_up], cite=True)) as client:
        job = await client.start("a", "go")
        first = await job.outcome()
        await client.reply(job.id, "and now?")
        second = await job.outcome()

    assert (first.citation_problem is None, second.citation_problem, second.citations) == (False, None, ["c1-1"])


async def test_a_closing_answer_is_checked_and_not_asked_for_again(host: Host) -> None:
    script = Script([looks("a"), {**looks("b"), "repeat": True}], closing={"text": "so far [#c1-1], [#c5-5]"})
    async with host(Agent("a", script, tools=[look_up], cite=True, limits=Limits(rounds=1))) as client:
        outcome, _, _ = await outcome_of(client)

    assert (outcome.status, outcome.citations) == ("hit_iteration_cap", ["c1-1"])
    assert outcome.citation_problem is not None
    assert "[#c5-5]" in outcome.citation_problem


async def test_agents_that_need_not_refer_to_anything_are_not_told_to(host: Host) -> None:
    script, asked = watched(looks("a"), {"text": "so [#c7-1]"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        outcome, said, _ = await outcome_of(client)

    assert (outcome.citations, outcome.citation_problem, said) == ([], None, "MTRT")
    assert "[#" not in asked[0].instructions
