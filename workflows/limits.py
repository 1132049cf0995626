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

    def _pairs(self) -> list[tuple[Limits, Spent]]:
        return [(self._state.limits, self._state.message), (self._state.total or NO_LIMITS, self._state.overall)]

    def spend(self, usage: Usage) -> None:
        for _, spent in self._pairs():
            spent.usage += usage

    def finish_round(self) -> None:
        for _, spent in self._pairs():
            spent.rounds += 1

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
            for _, spent in self._pairs():
                spent.seconds += (now - self._since).total_seconds()
            self._since = now

    def stop_clock(self, now: datetime) -> None:
        self.tick(now)
        self._since = None

    def start_clock(self, now: datetime) -> None:
        self._since = now
