"""Agents with a check of their own: a refused answer is asked for again with the reason, and never complete."""

import pytest
from pydantic import BaseModel

from activities.agents import Agent
from activities.models.answer_check import FinalAnswer
from activities.providers.scripted import Script
from tests.conftest import Host
from tests.workflows.scripting import kinds, look_up, looks, watched
from workflows.contracts import Limits, Note


class Value(BaseModel):
    value: str
    why: str


def quoted(answer: FinalAnswer) -> str | None:
    """The value must be what a cited result says."""
    value = answer.text if answer.output is None else Value.model_validate(answer.output).value
    if any(result.content in value or value in result.content for result in answer.cited):
        return None
    return f"{value!r} stands in none of the results that you refer to."


async def test_an_answer_against_its_own_citation_is_asked_for_again_and_told_why(host: Host) -> None:
    wrong, right = '{"value": "value of b", "why": "[#c1-1]"}', '{"value": "value of a", "why": "[#c1-1]"}'
    script, asked = watched(looks("a"), {"text": wrong}, {"text": right})
    async with host(Agent("a", script, tools=[look_up], cite=True, output=Value, check=quoted)) as client:
        job = await client.start("a", "go")
        outcome, transcript = await job.outcome(), await job.transcript()

    assert (outcome.status, outcome.output) == ("complete", {"value": "value of a", "why": "[#c1-1]"})
    assert (outcome.citations, kinds(transcript), len(asked)) == (["c1-1"], "MTRTNT", 3)
    assert [entry.text for entry in transcript if isinstance(entry, Note)] == [
        "Your answer can't be taken as it is: 'value of b' stands in none of the results that you refer to.\n"
        "Answer again, with that put right."
    ]


@pytest.mark.parametrize("retries", [0, 1])
async def test_an_answer_that_stays_against_it_is_invalid(host: Host, retries: int) -> None:
    script, asked = watched(looks("a"), {"text": "value of b [#c1-1]"})
    agent = Agent("a", script, tools=[look_up], cite=True, check=quoted, output_retries=retries)
    async with host(agent) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("invalid_output", "value of b [#c1-1]")
    assert outcome.error == "'value of b [#c1-1]' stands in none of the results that you refer to."
    assert (outcome.requires_human, len(asked)) == (True, 2 + retries)


async def test_what_does_not_fit_the_schema_is_not_checked(host: Host) -> None:
    seen: list[FinalAnswer] = []
    script, _ = watched({"text": "no JSON"}, {"text": '{"value": "x", "why": "y"}'})
    async with host(Agent("a", script, output=Value, check=seen.append)) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert outcome.status == "complete"
    assert [answer.output for answer in seen] == [{"value": "x", "why": "y"}]


async def test_a_closing_answer_is_not_checked(host: Host) -> None:
    script = Script([{**looks("a"), "repeat": True}], closing={"text": "so far nothing"})
    agent = Agent("a", script, tools=[look_up], check=quoted, limits=Limits(rounds=1))
    async with host(agent) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("hit_iteration_cap", "so far nothing")


async def test_a_check_that_raises_vouches_for_nothing(host: Host) -> None:
    def broken(answer: FinalAnswer) -> str | None:
        raise KeyError("stock")

    script, _ = watched({"text": "seven"})
    async with host(Agent("a", script, check=broken, output_retries=0)) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert outcome.status == "invalid_output"
    assert outcome.error == "The answer could not be checked: KeyError: 'stock'"
