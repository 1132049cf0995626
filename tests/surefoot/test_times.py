"""Lengths of time and moments as people write them."""

from datetime import UTC, datetime, timedelta

import pytest

from surefoot.errors import WrongValue
from surefoot.times import duration, moment, until


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(minutes=90)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        ("0s", timedelta(0)),
    ],
)
def test_a_length_of_time_is_a_number_with_its_unit(text: str, length: timedelta) -> None:
    assert duration(text) == length


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "1.5h", "5x", "5m!", "999999999w", "4000d"])
def test_no_other_text_is_a_length_of_time(text: str) -> None:
    with pytest.raises(WrongValue):
        duration(text)


def test_a_moment_with_a_zone_is_meant_there() -> None:
    assert moment("2026-12-24T18:00+01:00") == datetime(2026, 12, 24, 17, 0, tzinfo=UTC)
    assert moment("2026-12-24T18:00Z") == datetime(2026, 12, 24, 18, 0, tzinfo=UTC)


def test_a_moment_without_a_zone_is_meant_by_this_machines_clock() -> None:
    assert moment("2026-12-24T18:00") == datetime(2026, 12, 24, 18, 0).astimezone(UTC)


@pytest.mark.parametrize("text", ["tomorrow", "18", "2026-13-01T00:00", "0001-01-01T00:00+14:00"])
def test_no_other_text_is_a_moment(text: str) -> None:
    with pytest.raises(WrongValue, match="is no moment"):
        moment(text)


def test_a_moment_that_is_over_is_refused() -> None:
    now = datetime(2026, 12, 24, 18, 0, tzinfo=UTC)
    assert until(datetime(2026, 12, 24, 19, 0, tzinfo=UTC), now) == timedelta(hours=1)
    with pytest.raises(WrongValue, match="is over"):
        until(now, now)
