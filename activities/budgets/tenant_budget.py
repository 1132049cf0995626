"""A tenant's budget: what all its jobs together may spend in a day or a month, as users write it."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from activities.errors import DefinitionError

Per = Literal["day", "month"]


class TenantBudget:
    """What a tenant may spend in each day or month of UTC before its batches begin no more jobs until the next one.

    >>> everyone = TenantBudget(cost_usd=5, per="day")
    >>> acme = TenantBudget(tenant="acme", cost_usd=50, tokens=100_000_000, per="day")

    Without a `tenant` it is that of each tenant that has none of its own for the same time.
    """

    def __init__(
        self, *, cost_usd: float | None = None, tokens: int | None = None, per: Per = "day", tenant: str | None = None
    ) -> None:
        self.tenant, self.per, self.cost_usd, self.tokens = tenant, per, cost_usd, tokens
        if tenant is not None and not (isinstance(tenant, str) and tenant):
            raise DefinitionError(
                f"TenantBudget has tenant={tenant!r}. Give a tenant's name, or leave it out for each."
            )
        if per not in get_args(Per):
            raise DefinitionError(f"{self} has per={per!r}. Write per='day' or per='month'.")
        for name, value in (("cost_usd", cost_usd), ("tokens", tokens)):
            if value is not None and not _is_positive(value):
                raise DefinitionError(f"{self} has {name}={value!r}. Give a number above 0, or leave it out.")
        if cost_usd is None and tokens is None:
            raise DefinitionError(f"{self} limits nothing. Give cost_usd, tokens, or both.")

    def __repr__(self) -> str:
        return f"<TenantBudget of {self.tenant or 'each tenant'} per {self.per}>"

    def spent_up(self, tokens: int, cost_usd: float) -> str | None:
        """Which part of it is reached by so much, in words; None if none is."""
        if self.cost_usd is not None and cost_usd >= self.cost_usd:
            return f"${self.cost_usd:.2f} a {self.per} is spent (${cost_usd:.2f} used)"
        if self.tokens is not None and tokens >= self.tokens:
            return f"{self.tokens:,} tokens a {self.per} is spent ({tokens:,} used)"
        return None


def checked_budgets(budgets: Iterable[TenantBudget]) -> list[TenantBudget]:
    """The budgets of an app. Raises `DefinitionError` if one tenant has two for the same time."""
    found: dict[tuple[str | None, Per], TenantBudget] = {}
    for budget in budgets:
        if found.setdefault((budget.tenant, budget.per), budget) is not budget:
            raise DefinitionError(f"There are two of {budget}. Put what they limit into one of them.")
    return list(found.values())


def budgets_of(tenant: str, budgets: Iterable[TenantBudget]) -> list[TenantBudget]:
    """Those that hold for this tenant: its own, and for a time for which it has none those of each."""
    held: dict[Per, TenantBudget] = {}
    for budget in sorted(budgets, key=lambda each: each.tenant is not None):
        if budget.tenant in (None, tenant):
            held[budget.per] = budget
    return list(held.values())


def period(per: Per, now: datetime) -> tuple[datetime, datetime]:
    """The day or month of UTC that `now` is in, from its first moment to the first of the next one."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if per == "day":
        return day, day + timedelta(days=1)
    first = day.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
