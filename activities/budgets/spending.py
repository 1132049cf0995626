"""What tenants have spent, as the server's list of jobs tells it, and whether their batches may begin more.

Each worker keeps sums of its own and adds what ended since its last look; after a restart it adds up the whole period.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from temporalio.client import Client

from activities.batches.jobs import ENDED, LATE
from activities.budgets.tenant_budget import Per, TenantBudget, budgets_of, period
from workflows import labels
from workflows.showing import COST, TENANT, TOKENS

EACH = timedelta(seconds=3)
"""How often the server is asked what a tenant's jobs spent, however many batches the tenant has."""


class SpentUp(NamedTuple):
    """Which budget is reached, in words for people, and when that is over."""

    why: str
    until: datetime


@dataclass
class _Account:
    """What the jobs spent that ended from the period's first moment on, and before `until`."""

    begin: datetime
    until: datetime
    tokens: int = 0
    cost_usd: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class TenantSpending:
    """The spending of all tenants that have budgets; one for each worker process."""

    def __init__(self, budgets: Iterable[TenantBudget] = ()) -> None:
        self._budgets = tuple(budgets)
        self._accounts: dict[tuple[str, Per], _Account] = {}

    def concerns(self, tenant: str | None) -> bool:
        """Whether there is a budget that holds for this tenant."""
        return tenant is not None and bool(budgets_of(tenant, self._budgets))

    async def spent_up(self, client: Client, tenant: str, now: datetime) -> SpentUp | None:
        """The budget of this tenant that is reached; of several the one that is so for longest.

        `now` is the server's time.
        """
        found = list[SpentUp]()
        for budget in budgets_of(tenant, self._budgets):
            begin, end = period(budget.per, now)
            account = await self._account(client, tenant, budget.per, begin, now)
            if part := budget.spent_up(account.tokens, account.cost_usd):
                why = (
                    f"tenant {tenant}'s budget of {part}; it goes on by itself at {end:%Y-%m-%d %H:%M} UTC, or sooner"
                    " if you raise the budget in the app file, restart the workers and resume it"
                )
                found.append(SpentUp(why, end))
        return max(found, key=lambda each: each.until, default=None)

    async def _account(self, client: Client, tenant: str, per: Per, begin: datetime, now: datetime) -> _Account:
        account = self._accounts.get((tenant, per))
        if account is None or account.begin != begin:
            account = self._accounts[tenant, per] = _Account(begin, until=begin)
        async with account.lock:
            if now - LATE >= account.until + EACH:
                await _charge(client, tenant, account, now - LATE)
        return account


async def _charge(client: Client, tenant: str, account: _Account, until: datetime) -> None:
    """Add what the jobs spent that ended before `until` and were not added yet; nothing if that is cut short."""
    query = (
        f"WorkflowType = '{labels.WORKFLOW}' AND {TENANT.name} = '{tenant}' AND {TOKENS.name} IS NOT NULL AND {ENDED}"
        f" AND CloseTime >= '{account.until.isoformat()}' AND CloseTime < '{until.isoformat()}'"
    )
    tokens, cost = 0, 0.0
    async for run in client.list_workflows(query):
        tokens += run.typed_search_attributes.get(TOKENS) or 0
        cost += run.typed_search_attributes.get(COST) or 0.0
    account.tokens, account.cost_usd, account.until = account.tokens + tokens, account.cost_usd + cost, until
