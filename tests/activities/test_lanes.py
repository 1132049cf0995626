"""Which lane a call takes, and the terms that an operator gives."""

from datetime import timedelta

import pytest

from activities.errors import DefinitionError
from activities.lanes.choosing import choose, terms_from
from workflows.contracts import Lane
from workflows.lanes.contracts import LaneTerms

DAY, HOUR = timedelta(hours=25), timedelta(hours=1)


@pytest.mark.parametrize(
    ("lane", "host", "model", "left", "chosen"),
    [
        ("sync", "api.openai.com", "gpt-5", DAY, "sync"),
        ("flex", "localhost", "any", HOUR, "flex"),
        ("batch", "localhost", "any", HOUR, "batch"),
        ("auto", "api.openai.com", "gpt-5", DAY, "batch"),
        ("auto", "api.anthropic.com", "claude-sonnet-4-5", DAY, "batch"),
        ("auto", "api.openai.com", "gpt-5-mini", HOUR, "flex"),
        ("auto", "api.openai.com", "gpt-4o", HOUR, "sync"),
        ("auto", "api.anthropic.com", "claude-sonnet-4-5", HOUR, "sync"),
        ("auto", "localhost", "gpt-5", DAY, "sync"),
        ("auto", "evil-api.openai.com.example", "gpt-5", DAY, "sync"),
    ],
)
def test_auto_takes_the_cheapest_way_that_there_is(
    lane: Lane, host: str, model: str, left: timedelta, chosen: str
) -> None:
    assert choose(lane, host, model, left) == chosen


def test_terms_are_the_defaults_but_for_what_is_set() -> None:
    assert terms_from({}) == LaneTerms()
    assert terms_from({"SUREFOOT_LANE_TERMS": '{"age": 60, "tries": 2}'}) == LaneTerms(age=60.0, tries=2)


@pytest.mark.parametrize(
    ("given", "said"), [("{", "is no JSON"), ('{"ages": 1}', "there is no ages"), ('{"requests": 0}', "greater")]
)
def test_wrong_terms_say_what_there_is(given: str, said: str) -> None:
    with pytest.raises(DefinitionError, match=said) as error:
        terms_from({"SUREFOOT_LANE_TERMS": given})

    assert '"longest_poll":300.0' in str(error.value)
