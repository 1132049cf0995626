"""Finds how long a provider asks to wait, in whichever of a dozen forms it says so.

The answer is only read here, never bounded: the caller's policy decides how long a wait is believed. Garbage is
ignored rather than guessed at, so that a broken header means the policy's own backoff.
"""

import email.utils
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,20})?")
_PIECE = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s?(ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)")
_DURATION = re.compile(rf"(?:{_PIECE.pattern}\s?)+")
_IN_TEXT = re.compile(rf"(?:try again|retry|retrying|wait)(?: in| after| for)? ({_DURATION.pattern})(?![a-z])")
_EPOCH = 1_000_000_000  # a plain number above this is an instant, not a duration
_READ = 4_000  # characters of a text that are looked at


def retry_delay(headers: Mapping[str, str], body: JsonValue, now: datetime) -> float | None:
    """Seconds to wait from `now` (with a time zone), at least 0 and finite; None if nothing usable is said.

    In order: `retry-after` and `retry-after-ms` (the longer of both, as Azure sends 1 s with 0 ms), Google's
    `RetryInfo`, a sentence such as "Please try again in 3.89s", and last the instants at which used-up
    rate limits start anew.
    """
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    said = [_retry_after(lower.get("retry-after"), now), _milliseconds(lower.get("retry-after-ms"))]
    delays = [delay for delay in said if delay is not None]
    if not delays:
        delays = [delay for delay in _from_body(body) if delay is not None][:1] or _resets(lower, now)
    return max(0.0, *delays) if delays else None


def _retry_after(value: str | None, now: datetime) -> float | None:
    if not value:
        return None
    if _NUMBER.fullmatch(value):
        return float(value)
    seconds = _duration(value)
    return seconds if seconds is not None else _http_date(value, now)


def _milliseconds(value: str | None) -> float | None:
    number = _number(value) if value else None
    return None if number is None else number / 1000


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _duration(text: str) -> float | None:
    """ "12ms", "1m30s", "9m38.016s", "20 seconds": in seconds."""
    if not _DURATION.fullmatch(text.lower()):
        return None
    seconds = sum(float(number) * _factor(unit) for number, unit in _PIECE.findall(text.lower()))
    return seconds if math.isfinite(seconds) else None


def _factor(unit: str) -> float:
    return _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]]


def _http_date(text: str, now: datetime) -> float | None:
    try:
        instant = email.utils.parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError, TypeError):
        return None
    return (_aware(instant) - now).total_seconds()


def _rfc3339(text: str, now: datetime) -> float | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (_aware(instant) - now).total_seconds()


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _from_body(body: JsonValue, depth: int = 0) -> Iterator[float | None]:
    if depth > 8:
        return
    if isinstance(body, str):
        found = _IN_TEXT.search(body[:_READ].lower())
        yield _duration(found[1].strip()) if found else None
    elif isinstance(body, list):
        for item in body:
            yield from _from_body(item, depth + 1)
    elif isinstance(body, dict):
        stated = body.get("retryDelay")
        if isinstance(stated, str):
            yield _duration(stated)
        for value in body.values():
            yield from _from_body(value, depth + 1)


def _resets(headers: Mapping[str, str], now: datetime) -> list[float]:
    """Seconds until each limit starts anew: of the limits said to be used up, or of all if none is."""
    resets = {name: _reset(value, now) for name, value in headers.items() if "ratelimit" in name and "reset" in name}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    used_up = [seconds for name, seconds in known.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return used_up or list(known.values())


def _reset(value: str, now: datetime) -> float | None:
    number = _number(value)
    if number is None:
        seconds = _duration(value)
        return seconds if seconds is not None else _rfc3339(value, now)
    if number < _EPOCH:
        return number
    instant = number / 1000 if number > _EPOCH * 1000 else number
    return instant - now.timestamp()
