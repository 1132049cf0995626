"""Budgets of tenants as users write them."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from activities.apps import load_app
from activities.budgets.tenant_budget import TenantBudget, budgets_of, period
from activities.errors import DefinitionError

CODE = """
from surefoot import Agent, TenantBudget
agent = Agent("a", "scripted:a.json")
everyone = TenantBudget(cost_usd=5)
"""


def load(folder: Path, more: str) -> list[TenantBudget]:
    file = folder / "app.py"
    file.write_text(CODE + more)
    return load_app(file).tenant_budgets


def test_an_app_files_budgets_are_found_alone_and_in_lists(tmp_path: Path) -> None:
    found = load(tmp_path, "more = [TenantBudget(tenant='acme', tokens=9), TenantBudget(per='month', cost_usd=50)]\n")

    assert [repr(each) for each in found] == [
        "<TenantBudget of each tenant per day>",
        "<TenantBudget of acme per day>",
        "<TenantBudget of each tenant per month>",
    ]


def test_two_budgets_of_one_tenant_for_one_time_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="There are two of <TenantBudget of each tenant per day>"):
        load(tmp_path, "twice = TenantBudget(tokens=9)\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "limits nothing"),
        ({"cost_usd": 0}, "cost_usd=0. Give a number above 0"),
        ({"tokens": -1}, "tokens=-1"),
        ({"cost_usd": float("inf")}, "cost_usd=inf"),
        ({"tokens": True}, "tokens=True"),
        ({"cost_usd": "5"}, "cost_usd='5'"),
        ({"cost_usd": 5, "per": "week"}, "per='week'. Write per='day' or per='month'"),
        ({"cost_usd": 5, "tenant": ""}, "tenant=''"),
        ({"cost_usd": 5, "tenant": 7}, "tenant=7"),
    ],
)
def test_a_budget_that_can_not_be_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        TenantBudget(**given)
    assert told in str(caught.value)


def test_a_tenants_own_budget_stands_in_place_of_that_of_each_for_the_same_time() -> None:
    everyone, monthly = TenantBudget(cost_usd=5), TenantBudget(cost_usd=50, per="month")
    acme, other = TenantBudget(cost_usd=9, tenant="acme"), TenantBudget(cost_usd=1, tenant="other")
    given = [acme, everyone, other, monthly]

    assert budgets_of("acme", given) == [acme, monthly]
    assert budgets_of("nobody", given) == [everyone, monthly]
    assert budgets_of("nobody", [acme]) == []


def test_days_and_months_are_those_of_utc() -> None:
    late = datetime(2026, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1)))  # in UTC it is the next year

    assert period("day", late) == (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 2, tzinfo=UTC))
    assert period("month", late) == (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC))
    assert period("month", datetime(2026, 12, 1, tzinfo=UTC))[1] == datetime(2027, 1, 1, tzinfo=UTC)


def test_what_is_reached_is_said_with_what_was_used() -> None:
    budget = TenantBudget(cost_usd=5, tokens=1000, per="month")

    assert budget.spent_up(999, 4.99) is None
    assert budget.spent_up(1000, 4.99) == "1,000 tokens a month is spent (1,000 used)"
    assert budget.spent_up(0, 5.5) == "$5.00 a month is spent ($5.50 used)"
