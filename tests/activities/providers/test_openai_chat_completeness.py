"""No recording may be forgotten: each drives a test, or stands in a list with the reason why not."""

from collections import Counter

from tests.activities.providers import openai_traffic as listed
from tests.traffic import exchanges, names, require_traffic


def test_every_recording_drives_a_test_or_is_named_with_a_reason() -> None:
    require_traffic()
    exercised = [
        *listed.ERRORS,
        *listed.CHAT_DIALOGUES,
        *listed.CHAT_SINGLE,
        *listed.RESPONSES_DIALOGUES,
        *listed.RESPONSES_SINGLE,
    ]
    assigned = Counter([*exercised, *listed.NOT_YET, *listed.OTHER_API])

    assert sorted(assigned) == sorted(names(listed.FOLDERS))
    assert set(assigned.values()) == {1}


def test_only_streams_are_put_off() -> None:
    for name in listed.NOT_YET:
        assert all(exchange.sse for exchange in exchanges(name)), name
