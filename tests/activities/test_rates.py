"""Rates as users write them."""

from typing import Any

import pytest

from activities.agents import Agent
from activities.apps import App
from activities.errors import DefinitionError
from activities.providers.script import Script
from activities.rates.rate import Rate

SCRIPT = Script([{"text": "done"}])


def agent(name: str, rate: Any) -> Agent:
    return Agent(name, SCRIPT, rate=rate)


def test_agents_of_one_rate_share_it_and_an_app_knows_each_rate_once() -> None:
    rate = Rate("openai", requests_per_minute=500)
    app = App([agent("a", rate), agent("b", rate), agent("c", Rate("other", tokens_per_minute=1)), agent("d", None)])

    assert list(app.rates) == ["openai", "other"]
    assert [app.agent(name).spec().rate for name in "abcd"] == ["openai", "openai", "other", None]


def test_a_rate_written_twice_alike_is_one_rate_and_otherwise_a_mistake() -> None:
    App([agent("a", Rate("openai", requests_per_minute=5)), agent("b", Rate("openai", requests_per_minute=5))])
    with pytest.raises(DefinitionError, match="Two rates have the name 'openai'"):
        App([agent("a", Rate("openai", requests_per_minute=5)), agent("b", Rate("openai", requests_per_minute=6))])


@pytest.mark.parametrize(
    ("name", "limits", "told"),
    [
        ("open ai", {"requests_per_minute": 5}, "letters, digits"),
        ("openai", {}, "limits nothing"),
        ("openai", {"requests_per_minute": 0}, "above 0"),
        ("openai", {"tokens_per_minute": -1}, "above 0"),
        ("openai", {"tokens_per_minute": float("inf")}, "above 0"),
        ("openai", {"requests_per_minute": "5"}, "above 0"),
        ("openai", {"requests_per_minute": True}, "above 0"),
    ],
)
def test_a_rate_that_can_not_be_is_refused(name: str, limits: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Rate(name, **limits)


def test_an_agents_rate_is_a_rate() -> None:
    with pytest.raises(DefinitionError, match="has rate=500"):
        agent("a", 500)
