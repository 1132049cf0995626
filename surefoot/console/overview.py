"""What stands at the top of a job's page: how far it is within its limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefoot.console import words
from workflows.contracts import JobView, Limits


@dataclass(frozen=True)
class Bar:
    """What was used of one limit."""

    name: str
    used: float
    limit: float
    said: str


def bars(view: JobView) -> list[tuple[str, Sequence[Bar]]]:
    """Bars for the limits of the last message, and for those of the whole job; a heading for each of the two."""
    spent = view.spent
    usage = spent.usage
    of_message = list(_bars(view.limits, spent.rounds, usage.tool_calls, usage.tokens, spent.seconds, usage.cost_usd))
    found: list[tuple[str, Sequence[Bar]]] = [("Since the last message", of_message)]
    if view.total is not None:
        whole = view.usage
        found.append(
            ("In total", list(_bars(view.total, view.rounds, whole.tool_calls, whole.tokens, None, whole.cost_usd)))
        )
    return [(heading, shown) for heading, shown in found if shown]


def _bars(
    limits: Limits, rounds: int, tool_calls: int, tokens: int, seconds: float | None, cost: float
) -> Iterator[Bar]:
    counts = (
        ("rounds", rounds, limits.rounds),
        ("tool calls", tool_calls, limits.tool_calls),
        ("tokens", tokens, limits.tokens),
    )
    for name, used, limit in counts:
        if limit is not None:
            yield Bar(name, used, limit, f"{words.amount(used)} of {words.amount(limit)}")
    if limits.seconds is not None and seconds is not None:
        yield Bar("time at work", seconds, limits.seconds, f"{words.span(seconds)} of {words.span(limits.seconds)}")
    if limits.cost_usd is not None:
        yield Bar("cost", cost, limits.cost_usd, f"{words.money(cost)} of {words.money(limits.cost_usd)}")
