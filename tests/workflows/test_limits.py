"""Counting: what is left of an allowance, and which limit is reached first."""

from datetime import UTC, datetime, timedelta

import pytest

from workflows.contracts import JobState, Limits, Spent, Status, Usage
from workflows.limits import NO_LIMITS, Allowance

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def state(limits: Limits = NO_LIMITS, total: Limits | None = None, overall: Spent | None = None) -> JobState:
    return JobState(agent="a", limits=limits, total=total, overall=overall or Spent())


def test_the_default_allowance_is_ten_rounds_and_thirty_calls_and_nothing_else() -> None:
    assert Limits().model_dump() == {
        "rounds": 10,
        "tool_calls": 30,
        "tokens": None,
        "seconds": None,
        "cost_usd": None,
    }


def test_limits_change_only_in_what_was_given_and_none_takes_one_away() -> None:
    own = Limits(rounds=3, tool_calls=4, tokens=5)

    assert own.changed(None) == own
    assert own.changed(Limits(rounds=10)) == Limits(rounds=10, tool_calls=4, tokens=5)
    assert own.changed(Limits(rounds=None, cost_usd=0.5)) == Limits(rounds=None, tool_calls=4, tokens=5, cost_usd=0.5)


def test_what_is_spent_counts_for_the_message_and_in_total() -> None:
    job = state()
    allowance = Allowance(job, NOON)

    allowance.spend(Usage(input_tokens=3, output_tokens=4, tool_calls=1))
    allowance.spend(Usage(input_tokens=10, cost_usd=0.25))
    allowance.finish_round()

    assert job.message == job.overall
    assert job.message.usage == Usage(input_tokens=13, output_tokens=4, tool_calls=1, cost_usd=0.25)
    assert job.message.rounds == 1


@pytest.mark.parametrize(
    ("limits", "spent", "reached"),
    [
        (Limits(tokens=100), Usage(input_tokens=60, output_tokens=39), None),
        (Limits(tokens=100), Usage(input_tokens=60, output_tokens=40), "hit_token_cap"),
        (Limits(cost_usd=0.5), Usage(cost_usd=0.49), None),
        (Limits(cost_usd=0.5), Usage(cost_usd=0.5), "hit_cost_cap"),
        (Limits(tokens=0), Usage(), "hit_token_cap"),
        (Limits(cost_usd=0), Usage(), "hit_cost_cap"),
        (Limits(seconds=0), Usage(), "hit_wall_clock"),
        (Limits(tokens=1, cost_usd=1, seconds=0), Usage(input_tokens=1, cost_usd=1), "hit_token_cap"),
        (Limits(rounds=0, tool_calls=0), Usage(), None),
        (NO_LIMITS, Usage(input_tokens=10**9, cost_usd=1e6), None),
    ],
)
@pytest.mark.parametrize("where", ["message", "total"])
def test_a_limit_is_reached_when_as_much_is_spent(
    limits: Limits, spent: Usage, reached: Status | None, where: str
) -> None:
    job = state(limits) if where == "message" else state(total=limits)
    allowance = Allowance(job, NOON)
    allowance.spend(spent)

    assert allowance.reached(NOON) == reached


def test_time_is_reached_at_its_second() -> None:
    allowance = Allowance(state(Limits(seconds=10)), NOON)

    assert allowance.reached(after(9.999)) is None
    assert allowance.reached(after(10)) == "hit_wall_clock"


def test_time_stands_still_while_a_person_is_awaited() -> None:
    job = state(Limits(seconds=10))
    allowance = Allowance(job, NOON)

    allowance.stop_clock(after(4))
    allowance.tick(after(1000))
    allowance.start_clock(after(2000))
    allowance.tick(after(2003))

    assert (job.message.seconds, job.overall.seconds) == (7.0, 7.0)
    assert allowance.reached(after(2005)) is None
    assert allowance.reached(after(2006)) == "hit_wall_clock"


def test_rounds_are_used_up_at_their_number_by_message_or_in_total() -> None:
    by_message = Allowance(state(Limits(rounds=2)), NOON)
    in_total = Allowance(state(Limits(rounds=9), Limits(rounds=3), Spent(rounds=2)), NOON)
    seen = [(by_message.rounds_used_up(), in_total.rounds_used_up())]
    for _ in range(2):
        by_message.finish_round()
        in_total.finish_round()
        seen.append((by_message.rounds_used_up(), in_total.rounds_used_up()))

    assert seen == [(False, False), (False, True), (True, True)]


@pytest.mark.parametrize(
    ("message", "total", "earlier", "left"),
    [
        (None, None, 0, None),
        (5, None, 0, 3),
        (None, 5, 0, 3),
        (5, 20, 17, 1),
        (5, 20, 2, 3),
        (1, None, 0, 0),
        (0, 0, 0, 0),
    ],
)
def test_calls_left_are_the_fewest_of_both_and_never_below_none(
    message: int | None, total: int | None, earlier: int, left: int | None
) -> None:
    job = state(
        Limits(rounds=None, tool_calls=message),
        Limits(rounds=None, tool_calls=total) if total is not None else None,
        Spent(usage=Usage(tool_calls=earlier)),
    )
    allowance = Allowance(job, NOON)
    allowance.spend(Usage(tool_calls=2))

    assert allowance.calls_left() == left


def test_a_share_is_of_what_is_left_where_least_is_left_and_time_is_not_divided() -> None:
    job = state(Limits(tool_calls=9, tokens=1000, seconds=60), total=Limits(rounds=None, tool_calls=None, tokens=700))
    allowance = Allowance(job, NOON)
    allowance.spend(Usage(input_tokens=300, tool_calls=1))
    allowance.stop_clock(after(10))

    assert allowance.share(2, 3) == Limits(rounds=None, tool_calls=2, tokens=200, seconds=50)


def test_a_share_of_nothing_is_nothing_and_of_no_limit_no_limit() -> None:
    job = state(Limits(rounds=3, tool_calls=2, cost_usd=1.0))
    allowance = Allowance(job, NOON)
    allowance.spend(Usage(cost_usd=1.5))

    assert allowance.share(1, 5) == Limits(rounds=None, tool_calls=0, cost_usd=0.0)


def test_what_was_lent_is_a_limit_of_this_message() -> None:
    job = state()
    job.lent = Limits(rounds=None, tool_calls=3, tokens=100)
    allowance = Allowance(job, NOON)
    allowance.spend(Usage(input_tokens=100, tool_calls=1))

    assert allowance.calls_left() == 2
    assert allowance.reached(NOON) == "hit_token_cap"
