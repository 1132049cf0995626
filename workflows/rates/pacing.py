"""How fast a provider is asked: from what it allows, from what its answers use, and slower once it refused a call.

Pure, so that every step of it is tested without a server or a clock.
"""

from datetime import datetime, timedelta

from workflows.rates.contracts import RateReport, RateState, RateTerms

ASSUMED_TOKENS = 2000.0
"""Tokens of a call before any was measured."""

SETTLE = timedelta(seconds=3)
"""Calls that were handed out before the rate was lowered may still be refused: that lowers it no further."""

HOLD = timedelta(seconds=30)
"""How long a lowered rate is kept, unless the provider asked for longer."""

LONGEST_HOLD = timedelta(minutes=10)
STEP = timedelta(seconds=10)
UP = 1.5
LEAST = 1 / 64
TOLERANCE = 0.1
"""A change of the rate by less than this part is not worth telling the server."""

FULL_WEIGHT = 40
"""So many measured calls count half in the mean of tokens per call, fewer count less."""


def per_second(terms: RateTerms, tokens_per_request: float | None = None) -> float | None:
    """How many calls may begin in a second, all workers together; None: as many as you like."""
    by_requests = None if terms.requests_per_minute is None else terms.requests_per_minute / 60
    by_tokens = None
    if terms.tokens_per_minute is not None:
        by_tokens = terms.tokens_per_minute / 60 / max(1.0, tokens_per_request or ASSUMED_TOKENS)
    return min((each for each in (by_requests, by_tokens) if each is not None), default=None)


def take(state: RateState, report: RateReport, now: datetime) -> None:
    """Learn from what a worker saw."""
    state.terms = report.terms
    if report.requests:
        mean = report.tokens / report.requests
        before = state.tokens_per_request
        weight = min(1.0, report.requests / FULL_WEIGHT) / 2
        state.tokens_per_request = mean if before is None else before + (mean - before) * weight
    if report.limited:
        _slow_down(state, report, now)


def _slow_down(state: RateState, report: RateReport, now: datetime) -> None:
    if state.slowed_at is None or now - state.slowed_at >= SETTLE:
        state.factor = max(LEAST, state.factor / 2)
        state.slowed_at = now
    asked = timedelta(seconds=report.delay or 0.0)
    until = now + min(max(HOLD, asked), LONGEST_HOLD)
    state.recover_at = max(until, state.recover_at or until)


def recover(state: RateState, now: datetime) -> None:
    """One step up, if it is time for one."""
    if state.recover_at is None or now < state.recover_at:
        return
    state.factor = min(1.0, state.factor * UP)
    state.recover_at = now + STEP if state.factor < 1.0 else None


def wanted(state: RateState) -> float | None:
    """What the server should be told; None: what the workers say is right."""
    if state.factor == 1.0 and state.terms.tokens_per_minute is None:
        return None
    full = per_second(state.terms, state.tokens_per_request)
    return None if full is None else full * state.factor


def differs(told: float | None, rate: float | None) -> bool:
    """Whether it is worth telling."""
    if told is None or rate is None:
        return told is not rate
    return abs(rate - told) > TOLERANCE * told
