"""Where a job stands within its limits: for one message of a person, and in total.

The one place that compares what was spent with what is allowed. Time is work: the clock stops while a person is
awaited.
"""

from datetime import datetime

from workflows.contracts import JobState, Limits, Spent, Status, Usage

NO_LIMITS = Limits(rounds=None, tool_calls=None)


class Allowance:
    """Counts into `state.message` and `state.overall`, and says which limit was reached."""

    def __init__(self, state: JobState, now: datetime) -> None:
        self._state = state
        self._since: datetime | None = now

    def _counts(self) -> list[Spent]:
        return [self._state.message, self._state.overall]

    def _pairs(self) -> list[tuple[Limits, Spent]]:
        state = self._state
        lent = [(state.lent, state.message)] if state.lent is not None else []
        return [(state.limits, state.message), (state.total or NO_LIMITS, state.overall), *lent]

    def spend(self, usage: Usage) -> None:
        for spent in self._counts():
            spent.usage += usage

    def spend_seconds(self, seconds: float) -> None:
        """Add time in which others worked for this job, while its own clock stood still."""
        for spent in self._counts():
            spent.seconds += seconds

    def finish_round(self) -> None:
        for spent in self._counts():
            spent.rounds += 1

    def share(self, parts: int, open_calls: int) -> Limits:
        """What each of `parts` jobs that work for this one side by side may spend of what is left.

        `open_calls` of its own are still to run. Time passes for all of them at once, so it is not divided.
        """
        calls, pairs = self.calls_left(), self._pairs()
        tokens = _least([(limit.tokens, spent.usage.tokens) for limit, spent in pairs])
        cost = _least([(limit.cost_usd, spent.usage.cost_usd) for limit, spent in pairs])
        return Limits(
            rounds=None,
            tool_calls=None if calls is None else max(0, calls - open_calls) // parts,
            tokens=None if tokens is None else int(tokens) // parts,
            seconds=_least([(limit.seconds, spent.seconds) for limit, spent in pairs]),
            cost_usd=None if cost is None else cost / parts,
        )

    def rounds_used_up(self) -> bool:
        return any(limit.rounds is not None and spent.rounds >= limit.rounds for limit, spent in self._pairs())

    def calls_left(self) -> int | None:
        """How many more calls may run; None if there is no such limit."""
        left = [
            max(0, limit.tool_calls - spent.usage.tool_calls)
            for limit, spent in self._pairs()
            if limit.tool_calls is not None
        ]
        return min(left, default=None)

    def reached(self, now: datetime) -> Status | None:
        """The limit of tokens, cost or time that is reached, looked at before every step."""
        self.tick(now)
        for limit, spent in self._pairs():
            if limit.tokens is not None and spent.usage.tokens >= limit.tokens:
                return "hit_token_cap"
            if limit.cost_usd is not None and spent.usage.cost_usd >= limit.cost_usd:
                return "hit_cost_cap"
            if limit.seconds is not None and spent.seconds >= limit.seconds:
                return "hit_wall_clock"
        return None

    def tick(self, now: datetime) -> None:
        """Add the time since the last look, if the clock runs."""
        if self._since is not None:
            self.spend_seconds((now - self._since).total_seconds())
            self._since = now

    def stop_clock(self, now: datetime) -> None:
        self.tick(now)
        self._since = None

    def start_clock(self, now: datetime) -> None:
        self._since = now


def _least(limited: list[tuple[float | None, float]]) -> float | None:
    """What is left where least is; None without any limit."""
    return min((max(0.0, limit - spent) for limit, spent in limited if limit is not None), default=None)
