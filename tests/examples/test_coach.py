"""The coach: a read, a pure computation, a goal that is saved once, and the step limit with a reply."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import InvalidArguments, ToolError
from tests.examples.conftest import Example, Load, tool_of
from tests.waiting import until
from workflows.contracts import Limits, Result

QUESTION = "How much have I progressed on the bench press this month?"
PROGRESS = "This month your estimated one-rep maximum on the bench press rose from 96.0 kg to 105.0 kg: 9 kg more."


def maximum(kilograms: float, repetitions: int) -> float:
    value = tool_of("coach.py", "coach", "one_rep_maximum")(kilograms, repetitions)
    assert isinstance(value, int | float)
    return value


async def test_it_reads_the_diary_and_compares_the_computed_maxima(example: Example) -> None:
    async with example("coach.py") as client:
        job = await client.start("coach", QUESTION)
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer) == ("complete", PROGRESS)
    assert not outcome.requires_human
    assert (outcome.usage.model_calls, outcome.usage.tool_calls) == (3, 3)
    results = [entry for entry in transcript if isinstance(entry, Result)]
    assert [(result.tool, result.status) for result in results] == [
        ("training_history", "ok"),
        ("one_rep_maximum", "ok"),
        ("one_rep_maximum", "ok"),
    ]
    history = json.loads(results[0].content)
    assert [(each["date"], each["kilograms"]) for each in history] == [
        ("2025-06-03", 80.0),
        ("2025-06-12", 80.0),
        ("2025-06-26", 87.5),
    ]


async def test_with_one_round_it_names_the_limit_and_asks_and_a_yes_finishes(example: Example) -> None:
    async with example("coach.py") as client:
        job = await client.start(
            "coach", QUESTION, limits=Limits(rounds=1), model="scripted:scripts/coach_one_round.json"
        )
        first = await job.outcome()
        await client.reply(job.id, "yes", by="mara")
        final = await job.outcome()
        transcript = await job.transcript()

    assert first.status == "hit_iteration_cap"
    assert first.answer is not None
    assert "the step limit for this answer was reached" in first.answer
    assert first.answer.endswith("Shall I go on?")
    assert first.requires_human
    assert [finding.tool for finding in first.findings] == ["training_history"]
    assert [(missed.tool, missed.arguments) for missed in first.not_done] == [
        ("one_rep_maximum", {"kilograms": 80, "repetitions": 6})
    ]
    assert first.usage.model_calls == 3
    assert (final.status, final.answer, final.not_done) == ("complete", PROGRESS, [])
    assert [(entry.call, entry.status) for entry in transcript if isinstance(entry, Result)] == [
        ("c1-1", "ok"),
        ("c2-1", "not_executed"),
        ("c4-1", "ok"),
        ("c4-2", "ok"),
    ]


async def test_a_goal_is_shown_before_it_is_saved(example: Example, work: Path) -> None:
    async with example("coach.py") as client:
        job = await client.start("coach", QUESTION)
        await job.outcome()
        await client.reply(job.id, "Then save a goal: 110 kg by the end of August.")
        view = await until(job.view, lambda view: bool(view.pending) and view.pending[0].preview is not None)
        saved_early = (work / "goals").exists()
        await job.approve(view.pending[0].call, by="mara")
        outcome = await job.outcome()

    assert view.pending[0].preview == "Set your bench_press goal: 110 kg by 2025-08-31"
    assert not saved_early
    assert outcome.status == "complete"
    assert outcome.answer == "Goal set: 110 kg by 2025-08-31. That is about 2.5 kg a month."
    assert [file.name for file in (work / "goals").iterdir()] == ["bench_press.json"]
    assert json.loads((work / "goals" / "bench_press.json").read_text()) == {
        "exercise": "bench_press",
        "kilograms": 110.0,
        "by": "2025-08-31",
    }


async def test_a_goal_that_was_denied_is_not_saved(example: Example, work: Path) -> None:
    async with example("coach.py") as client:
        job = await client.start("coach", QUESTION)
        await job.outcome()
        await client.reply(job.id, "Then save a goal.")
        view = await until(job.view, lambda view: bool(view.pending))
        await job.deny(view.pending[0].call, reason="too heavy", by="mara")
        await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert (results[-1].tool, results[-1].status) == ("save_goal", "denied")
    assert "too heavy" in results[-1].content
    assert not (work / "goals").exists()


def test_saving_a_goal_again_leaves_the_same_file(load: Load, work: Path) -> None:
    save = load("coach.py").agent("coach").tool("save_goal")
    assert save is not None
    goal = save.validate({"exercise": "squat", "kilograms": 140, "by": "2025-12-31"})
    answers = [save(**goal), save(**goal)]

    assert save.idempotent
    assert answers == ["Goal set: 140 kg by 2025-12-31."] * 2
    assert len(list((work / "goals").iterdir())) == 1


def test_a_month_without_training_is_an_error_that_names_the_months_there_are() -> None:
    with pytest.raises(ToolError, match="no bench_press in 2024-01; it has 2025-05, 2025-06"):
        tool_of("coach.py", "coach", "training_history")("bench_press", "2024-01")


@pytest.mark.parametrize(
    ("kilograms", "repetitions", "expected"), [(100, 1, 100), (80, 6, 96.0), (87.5, 6, 105.0), (60, 12, 84.0)]
)
def test_the_one_rep_maximum_follows_epley(kilograms: float, repetitions: int, expected: float) -> None:
    assert maximum(kilograms, repetitions) == expected


@given(st.floats(1, 500), st.integers(1, 11))
def test_one_more_repetition_never_lowers_the_maximum(kilograms: float, repetitions: int) -> None:
    assert kilograms < maximum(kilograms, repetitions + 1)
    assert round(maximum(kilograms, repetitions), 1) <= maximum(kilograms, repetitions + 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kilograms": 80, "repetitions": 0},
        {"kilograms": 80, "repetitions": 13},
        {"kilograms": -80, "repetitions": 5},
        {"kilograms": 0, "repetitions": 5},
        {"kilograms": 80, "repetitions": 5.5},
        {"kilograms": "heavy", "repetitions": 5},
    ],
)
def test_a_set_that_can_not_be_is_refused(arguments: dict[str, float | str]) -> None:
    with pytest.raises(InvalidArguments):
        tool_of("coach.py", "coach", "one_rep_maximum").validate({**arguments})
