"""How fast a provider is asked, step by step, without a server or a clock."""

from datetime import UTC, datetime, timedelta

import pytest

from workflows.rates import pacing
from workflows.rates.contracts import RateReport, RateState, RateTerms

NOON = datetime(2026, 12, 24, 12, 0, tzinfo=UTC)
BOTH = RateTerms(requests_per_minute=600, tokens_per_minute=60_000)
REQUESTS = RateTerms(requests_per_minute=600)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def state(terms: RateTerms = REQUESTS) -> RateState:
    return RateState(queue="q", terms=terms)


@pytest.mark.parametrize(
    ("terms", "tokens", "rate"),
    [
        (REQUESTS, None, 10.0),
        (REQUESTS, 5000.0, 10.0),
        (RateTerms(tokens_per_minute=120_000), None, 1.0),
        (RateTerms(tokens_per_minute=120_000), 500.0, 4.0),
        (BOTH, 50.0, 10.0),
        (BOTH, 1000.0, 1.0),
        (BOTH, 0.0, 0.5),
        (RateTerms(), None, None),
    ],
)
def test_the_smaller_of_both_limits_holds(terms: RateTerms, tokens: float | None, rate: float | None) -> None:
    assert pacing.per_second(terms, tokens) == rate


def test_without_a_refusal_and_a_limit_on_tokens_the_workers_own_rate_holds() -> None:
    kept = state()
    pacing.take(kept, RateReport(terms=REQUESTS, requests=5, tokens=500), NOON)

    assert pacing.wanted(kept) is None


def test_measured_tokens_set_the_rate_and_later_ones_move_it_by_their_weight() -> None:
    kept = state(BOTH)
    pacing.take(kept, RateReport(terms=BOTH, requests=10, tokens=10_000), NOON)
    first = pacing.wanted(kept)
    pacing.take(kept, RateReport(terms=BOTH, requests=40, tokens=20_000), after(10))
    second = pacing.wanted(kept)

    assert first == 1.0
    assert second == pytest.approx(1000 / 750)


def test_a_refusal_halves_the_rate_and_those_of_calls_under_way_halve_it_no_further() -> None:
    kept = state()
    for second in (0.0, 1.0, 2.9):
        pacing.take(kept, RateReport(terms=REQUESTS, limited=3), after(second))
    settled = pacing.wanted(kept)
    pacing.take(kept, RateReport(terms=REQUESTS, limited=1), after(3))

    assert (settled, pacing.wanted(kept)) == (5.0, 2.5)


def test_it_recovers_step_by_step_once_the_hold_is_over() -> None:
    kept = state()
    pacing.take(kept, RateReport(terms=REQUESTS, limited=1), NOON)
    seen = []
    for second in (29, 30, 39, 40, 50):
        pacing.recover(kept, after(second))
        seen.append(kept.factor)

    assert seen == [0.5, 0.75, 0.75, 1.0, 1.0]
    assert (kept.recover_at, pacing.wanted(kept)) == (None, None)


def test_the_providers_own_delay_is_waited_for_up_to_a_limit() -> None:
    long, endless = state(), state()
    pacing.take(long, RateReport(terms=REQUESTS, limited=1, delay=120), NOON)
    pacing.take(endless, RateReport(terms=REQUESTS, limited=1, delay=1e9), NOON)

    assert (long.recover_at, endless.recover_at) == (after(120), NOON + pacing.LONGEST_HOLD)


def test_a_rate_never_falls_to_nothing() -> None:
    kept = state()
    for number in range(100):
        pacing.take(kept, RateReport(terms=REQUESTS, limited=1), after(number * 6))

    assert pacing.wanted(kept) == 10 * pacing.LEAST


@pytest.mark.parametrize(
    ("told", "rate", "worth"),
    [(None, None, False), (None, 5.0, True), (5.0, None, True), (5.0, 5.4, False), (5.0, 5.6, True), (5.0, 4.4, True)],
)
def test_only_what_makes_a_difference_is_told(told: float | None, rate: float | None, worth: bool) -> None:
    assert pacing.differs(told, rate) is worth
