"""Research that leads nowhere: no progress and every limit end the job with findings, and ask for a person."""

import pytest

from tests.examples.conftest import Example
from workflows.contracts import Limits, Outcome, Result, Turn

QUESTION = "Who built the lighthouse of Kellmar?"
WANDERING = "scripted:scripts/research_wandering.json"
SEARCHES = ["lighthouse Kellmar", "Kellmar light builder", "Kellmar coast towers", "harbour works Kellmar"]


def found(*queries: str) -> list[str]:
    return [f"Nothing found for {query!r}." for query in queries]


def contents(outcome: Outcome) -> list[str]:
    return [finding.content for finding in outcome.findings]


def missed(outcome: Outcome) -> list[object]:
    return [each.arguments["query"] for each in outcome.not_done if each.arguments is not None]


async def test_the_same_search_three_times_is_no_progress(example: Example) -> None:
    async with example("research.py") as client:
        job = await client.start("research", QUESTION)
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "no_progress"
    assert outcome.answer is not None
    assert outcome.answer.endswith("Do you know its year?")
    assert outcome.requires_human
    assert contents(outcome) == found("lighthouse Kellmar builder") * 3
    assert (outcome.usage.model_calls, outcome.usage.tool_calls) == (4, 3)
    turns = [entry for entry in transcript if isinstance(entry, Turn)]
    results = [entry for entry in transcript if isinstance(entry, Result)]
    assert [call.id for turn in turns for call in turn.calls] == ["c1-1", "c2-1", "c3-1"]
    assert [result.call for result in results] == ["c1-1", "c2-1", "c3-1"]
    assert transcript[-1] == turns[-1]
    assert not turns[-1].calls


async def test_two_searches_that_take_turns_are_no_progress(example: Example) -> None:
    async with example("research.py") as client:
        job = await client.start("research", QUESTION, model="scripted:scripts/research_alternating.json")
        outcome = await job.outcome()

    assert outcome.status == "no_progress"
    assert outcome.answer is not None
    assert outcome.answer.startswith("Neither of my two searches")
    assert outcome.requires_human
    assert contents(outcome) == found("lighthouse Kellmar", "Kellmar harbour light") * 2
    assert outcome.usage.model_calls == 5


# Each turn of the script uses 1000 tokens and 2 cents: the third one goes beyond the limit of tokens and of cost, and
# its search is not made any more. Rounds and calls are refused only when one too many is asked for.
@pytest.mark.parametrize(
    ("limits", "status", "searches", "model_calls"),
    [
        (Limits(rounds=3), "hit_iteration_cap", 3, 5),
        (Limits(tool_calls=3), "hit_tool_call_cap", 3, 5),
        (Limits(tokens=2500), "hit_token_cap", 2, 4),
        (Limits(cost_usd=0.05), "hit_cost_cap", 2, 4),
    ],
    ids=["rounds", "tool_calls", "tokens", "cost"],
)
async def test_a_limit_ends_the_job_with_what_was_found_and_a_closing_answer(
    example: Example, limits: Limits, status: str, searches: int, model_calls: int
) -> None:
    async with example("research.py") as client:
        job = await client.start("research", QUESTION, model=WANDERING, limits=limits)
        outcome = await job.outcome()

    assert outcome.status == status
    assert outcome.answer == "I have searched under several names without a find. Shall I go on?"
    assert outcome.requires_human
    assert contents(outcome) == found(*SEARCHES[:searches])
    assert missed(outcome) == [SEARCHES[searches]]
    assert (outcome.usage.model_calls, outcome.usage.tool_calls) == (model_calls, searches)
    assert outcome.usage.tokens == 1000 * model_calls
    assert outcome.usage.cost_usd == pytest.approx(0.02 * model_calls)


async def test_a_limit_of_time_ends_the_job_as_well(example: Example) -> None:
    async with example("research.py") as client:
        job = await client.start(
            "research", QUESTION, model="scripted:scripts/research_slow.json", limits=Limits(seconds=1)
        )
        outcome = await job.outcome()

    assert outcome.status == "hit_wall_clock"
    assert outcome.answer is not None
    assert outcome.answer.startswith("The time for this answer is over")
    assert outcome.requires_human
    made = len(outcome.findings)  # two, unless this machine was so busy that a second was over before
    assert made <= 2
    assert contents(outcome) == found(*SEARCHES[:made])
    assert missed(outcome) in ([SEARCHES[made]], [])


async def test_the_example_s_own_limits_hold_without_any_given(example: Example) -> None:
    async with example("research.py") as client:
        job = await client.start("research", QUESTION, model=WANDERING)
        outcome = await job.outcome()

    assert outcome.status == "hit_iteration_cap"
    assert outcome.usage.tool_calls == 6
