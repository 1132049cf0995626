"""No recording may be forgotten: each drives a test, or stands in a list with the reason why not."""

from collections import Counter

from tests.activities.providers import openai_traffic as listed
from tests.traffic import exchanges, names, require_traffic

WHOLE = (
    *listed.ERRORS,
    *listed.CHAT_DIALOGUES,
    *listed.CHAT_SINGLE,
    *listed.RESPONSES_DIALOGUES,
    *listed.RESPONSES_SINGLE,
)
STREAMS = (
    *listed.CHAT_STREAMS,
    *listed.CHAT_STREAM_ERRORS,
    *listed.RESPONSES_STREAMS,
    *listed.RESPONSES_STREAM_ERRORS,
)


def test_every_recording_drives_a_test_or_is_named_with_a_reason() -> None:
    require_traffic()
    assigned = Counter([*WHOLE, *STREAMS, *listed.OTHER_API])

    assert sorted(assigned) == sorted(names(listed.FOLDERS))
    assert set(assigned.values()) == {1}


def test_every_recorded_stream_drives_a_test_of_streams() -> None:
    for name in (*WHOLE, *STREAMS):
        streamed = {exchange.sse for exchange in exchanges(name) if exchange.url.split("/")[-1] != "messages"}
        assert streamed == {name in STREAMS}, name
