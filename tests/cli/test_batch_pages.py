"""What a terminal says of a batch that does not go on: why, and which command changes that."""

from datetime import UTC, datetime
from typing import Any

import pytest

from surefoot.batches import BatchView, Budget
from surefoot.cli.batch_pages import Progress, held, print_next
from workflows.batches.contracts import BatchSpent


def view(**given: Any) -> BatchView:
    return BatchView(batch="night", lines=9, concurrency=2, submitted_at=datetime(2026, 11, 30, tzinfo=UTC), **given)


@pytest.mark.parametrize(
    ("budget", "more"),
    [
        (Budget(), ""),
        (Budget(cost_usd=9), ""),
        (Budget(cost_usd=5), " --budget-usd MORE"),
        (Budget(tokens=700, cost_usd=9), " --budget-tokens MORE"),
        (Budget(tokens=700, cost_usd=5), " --budget-usd MORE --budget-tokens MORE"),
    ],
)
def test_a_batch_whose_budget_is_spent_says_that_it_takes_another_one_to_go_on(budget: Budget, more: str) -> None:
    spent = BatchSpent(cost_usd=5.25, tokens=700)

    text = held(view(state="held", hold="lunch", budget=budget, spent=spent))

    assert text == f"held: lunch; go on with: surefoot batch resume night{more}"


def test_whoever_watches_a_batch_is_told_that_it_is_held_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=False) as progress:
        progress.show(view(state="running", queued=9))
        progress.show(view(state="held", queued=9, hold="lunch"))
        progress.show(view(state="held", queued=9, hold="lunch"))

    assert capsys.readouterr().err.splitlines() == [
        "9 queued  ($0.0000, 0 tokens)",
        "9 queued  ($0.0000, 0 tokens)",
        "held: lunch; go on with: surefoot batch resume night",
    ]


@pytest.mark.parametrize(
    ("stands", "said"),
    [
        ({"state": "running", "running": 9}, []),
        ({"state": "ended", "done": 9}, ["results: surefoot batch results night"]),
        (
            {"state": "waiting", "done": 8, "waiting": 1},
            ["what is left waits for people: surefoot inbox", "results: surefoot batch results night"],
        ),
        (
            {"state": "ended", "done": 7, "failed": 1, "incomplete": 1},
            [
                "which failed: surefoot jobs --batch night --end failed",
                "which are incomplete: surefoot jobs --batch night --end incomplete",
                "go on with what is not done: surefoot batch retry night",
                "results: surefoot batch results night",
            ],
        ),
        (
            {"state": "ended", "done": 2, "queued": 7},
            ["go on with what is not done: surefoot batch retry night", "results: surefoot batch results night"],
        ),
    ],
    ids=["running", "done", "waiting", "not all done", "given up"],
)
def test_a_batch_that_stands_still_names_the_next_commands(
    stands: dict[str, Any], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_next(view(**stands))

    assert capsys.readouterr().err.splitlines() == said
