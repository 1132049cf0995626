"""What goes first, as people may say it."""

import pytest

from activities.agents import Agent
from activities.providers.script import Script
from surefoot.errors import JobConflict, WrongValue
from surefoot.priorities import checked_priority
from tests.conftest import Host
from workflows.labels import FAIRNESS_KEY_BYTES, priority


@pytest.mark.parametrize(("number", "weight"), [(None, None), (1, 0.001), (5, 1000.0)])
def test_priorities_from_1_to_5_and_weights_in_range_are_taken(number: int | None, weight: float | None) -> None:
    checked_priority(number, weight)
    made = priority("acme", number, weight)

    assert (made.priority_key, made.fairness_weight) == (number, weight)


@pytest.mark.parametrize(
    ("number", "weight", "told"),
    [
        (0, None, "priority 0"),
        (6, None, "priority 6"),
        (None, 0.0, "weight of 0.0"),
        (None, float("nan"), "weight of nan"),
    ],
)
def test_no_others_are(number: int | None, weight: float | None, told: str) -> None:
    with pytest.raises(WrongValue, match=told):
        checked_priority(number, weight)


def test_a_tenant_is_its_own_key_unless_it_is_too_long_for_one() -> None:
    long = "ü" * 60
    short, cut = priority("acme", 2, 3.0), priority(long, None, None)

    assert (short.priority_key, short.fairness_key, short.fairness_weight) == (2, "acme", 3.0)
    assert cut.fairness_key != priority(long + "x", None, None).fairness_key
    assert len((cut.fairness_key or "").encode()) <= FAIRNESS_KEY_BYTES


async def test_the_same_key_with_another_priority_is_another_request(host: Host) -> None:
    async with host(Agent("worker", Script([{"text": "done"}]))) as client:
        first = await client.start("worker", "go", key="k", priority=1)
        again = await client.start("worker", "go", key="k", priority=1)
        with pytest.raises(JobConflict):
            await client.start("worker", "go", key="k", priority=2)

        assert first.id == again.id
