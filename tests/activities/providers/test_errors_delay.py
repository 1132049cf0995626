"""How long a provider asks to wait, in every form that was seen; garbage is ignored, never slept on."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.providers.retry_delay import retry_delay

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("-5", 0.0),
        ("999999", 999999.0),
        ("0s", 0.0),
        ("2m", 120.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Thursday, 01-Jan-26 12:00:10 GMT", 10.0),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("9" * 400, None),
        ("soon", None),
        ("Thu, 99 Foo 2026", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_each_form(value: str, seconds: float | None) -> None:
    assert retry_delay({"Retry-After": value}, None, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "1", "retry-after-ms": "0"}, 1.0),
        ({"retry-after": "garbage", "retry-after-ms": "250"}, 0.25),
        ({"x-ratelimit-reset-requests": "12ms"}, 0.012),
        ({"x-ratelimit-reset-requests": "12ms", "x-ratelimit-reset-tokens": "1m30s"}, 90.0),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "12ms",
                "x-ratelimit-remaining-tokens": "100",
                "x-ratelimit-reset-tokens": "1m30s",
            },
            0.012,
        ),
        ({"anthropic-ratelimit-tokens-reset": "2026-01-01T12:00:16Z"}, 16.0),
        ({"anthropic-ratelimit-tokens-reset": "yesterday"}, None),
        ({"x-ratelimit-reset": str(int(NOW.timestamp() * 1000) + 4000)}, 4.0),
    ],
)
def test_other_headers_are_read(headers: dict[str, str], seconds: float | None) -> None:
    delay = retry_delay(headers, None, NOW)

    assert delay == (seconds if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"message": "Rate limit reached. Please try again in 3.89s. Visit our site."}}, 3.89),
        ({"error": {"message": "Limit 100000. Please try again in 9m38.016s. Need more?"}}, 578.016),
        ({"error": {"message": "Please try again in 20ms."}}, 0.02),
        ("Please retry after 6 seconds.", 6.0),
        ({"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34.4s"}]}}, 34.4),
        ([{"error": {"details": [{"retryDelay": "48s"}]}}], 48.0),
        ({"error": {"message": "Please try again in 5 apples"}}, None),
        ({"error": "Please retry shortly"}, None),
    ],
)
def test_bodies_are_read(body: Any, seconds: float | None) -> None:
    assert retry_delay({}, body, NOW) == (seconds if seconds is None else pytest.approx(seconds))


def test_a_header_outranks_the_body() -> None:
    assert retry_delay({"retry-after": "2"}, "try again in 50s", NOW) == 2.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_makes_a_delay_that_is_negative_or_no_number(header: str, body: str) -> None:
    headers = {"retry-after": header, "x-ratelimit-reset-tokens": header}

    delay = retry_delay(headers, f"try again in {body}", NOW)

    assert delay is None or (math.isfinite(delay) and delay >= 0)
