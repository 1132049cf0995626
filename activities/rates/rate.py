"""A rate: how often a provider may be asked by all workers together, as users write it."""

import math
from collections.abc import Iterable

from activities.errors import DefinitionError
from activities.names import NAME
from workflows.rates import pacing
from workflows.rates.contracts import RateTerms


class Rate:
    """What a provider allows one credential in a minute: the calls of all agents that have this rate count together.

    >>> openai = Rate("openai", requests_per_minute=500, tokens_per_minute=200_000)
    >>> Agent("shop", model="openai:…", rate=openai)

    A call that would be too much waits, and holds no worker meanwhile. A call that the provider refuses for coming too
    fast is made again, and makes all others slower for a while.
    """

    def __init__(
        self, name: str, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DefinitionError(f"rate {name!r}: a rate's name has 1 to 64 letters, digits, '_' or '-', no others.")
        for limit, value in (("requests_per_minute", requests_per_minute), ("tokens_per_minute", tokens_per_minute)):
            if value is not None and not _is_positive(value):
                raise DefinitionError(f"rate {name!r} has {limit}={value!r}. Give a number above 0, or leave it out.")
        if requests_per_minute is None and tokens_per_minute is None:
            raise DefinitionError(
                f"rate {name!r} limits nothing. Give requests_per_minute, tokens_per_minute, or both, as your provider"
                " states them for your key."
            )
        self.name = name
        self.terms = RateTerms(
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
        )

    def __repr__(self) -> str:
        return f"<Rate {self.name}>"

    @property
    def per_second(self) -> float:
        """How many calls may begin in a second before any was measured."""
        allowed = pacing.per_second(self.terms)
        assert allowed is not None  # one of the two is given
        return allowed


def checked_rate(where: str, rate: object) -> Rate | None:
    """The rate that an agent was given. Raises `DefinitionError`."""
    if rate is None or isinstance(rate, Rate):
        return rate
    raise DefinitionError(f"{where} has rate={rate!r}. Write rate=Rate('name', requests_per_minute=…).")


def rates_of(rates: Iterable[Rate | None]) -> dict[str, Rate]:
    """Rates by name. Raises `DefinitionError` if two of one name differ."""
    found: dict[str, Rate] = {}
    for rate in rates:
        if rate is not None and found.setdefault(rate.name, rate).terms != rate.terms:
            raise DefinitionError(f"Two rates have the name {rate.name!r} and other numbers. Rename one of them.")
    return found


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
