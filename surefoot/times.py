"""How people write lengths of time and moments: `90s`, `5m`, `36h`, `7d`; `2026-12-24T18:00`, with or without a zone.

Both are read here alone, so that every command and every option takes the same.
"""

import re
from datetime import UTC, datetime, timedelta

from surefoot.errors import WrongValue

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LONGEST = timedelta(days=3660)
LENGTH = re.compile(r"(\d{1,9})([smhdw])")


def duration(text: str) -> timedelta:
    """A length of time of one or several parts, as in `1h30m`. Raises `WrongValue`."""
    parts = LENGTH.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise WrongValue(
            f"{text[:100]!r} is no length of time: write numbers with s, m, h, d or w, such as 90s or 1h30m"
        )
    try:
        total = sum((timedelta(**{UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    except OverflowError:
        total = timedelta.max
    if total > LONGEST:
        raise WrongValue(f"{text[:100]!r} is longer than {LONGEST.days} days, the longest that is taken")
    return total


def moment(text: str) -> datetime:
    """A moment in ISO 8601, in UTC; without a zone it is meant by the clock of this machine. Raises `WrongValue`."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise WrongValue(
            f"{text[:100]!r} is no moment: write it as 2026-12-24T18:00, or with a zone as 2026-12-24T18:00+01:00"
        ) from None


def until(at: datetime, now: datetime | None = None) -> timedelta:
    """How long it is until `at`. Raises `WrongValue` if that is over."""
    left = at - (now or datetime.now(UTC))
    if left <= timedelta(0):
        raise WrongValue(f"{at.isoformat(timespec='seconds')} is over; give a moment that is still to come")
    return left
