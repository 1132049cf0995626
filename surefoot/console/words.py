"""Times, amounts and money in words, as the pages say them; static/clock.js says times with the same words."""

from datetime import UTC, datetime

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def span(seconds: float) -> str:
    """A length of time: `40 ms`, `1.5 s`, `45 s`, `3 min`, `2 h 10 min`, `4 d 3 h`."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s".replace(".0 s", " s")
    whole = int(seconds)
    for place, (size, unit) in enumerate(UNITS):
        if whole >= size:
            rest = whole % size // UNITS[place + 1][0] if place + 1 < len(UNITS) else 0
            return f"{whole // size} {unit} {rest} {UNITS[place + 1][1]}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def age(since: datetime, now: datetime | None = None) -> str:
    """How long ago that was, in whole units: `just now`, `40 s ago`, `3 min ago`."""
    seconds = ((now or datetime.now(UTC)) - since).total_seconds()
    return "just now" if seconds < 1 else f"{span(float(int(seconds)))} ago"


def until(then: datetime, now: datetime | None = None) -> str:
    """How long it is until then: `in 3 min`, or that it is over."""
    seconds = (then - (now or datetime.now(UTC))).total_seconds()
    return "now" if seconds < 1 else f"in {span(float(int(seconds)))}"


def money(dollars: float) -> str:
    """An amount in dollars, with as many decimals as small amounts need: `$12.50`, `$0.0084`."""
    if dollars >= 1 or dollars == 0:
        return f"${dollars:.2f}" if dollars else "$0"
    whole, _, rest = f"{dollars:.4f}".rstrip("0").partition(".")
    return f"${whole}.{rest:0<2}"


def amount(number: float) -> str:
    """A count with thousands apart: `12 500`; from a million on shortened: `1.2 M`."""
    if number >= 1_000_000:
        return f"{number / 1_000_000:.1f} M"
    return f"{number:,.0f}".replace(",", "\u202f") if float(number).is_integer() else f"{number:g}"


def plural(count: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{amount(count)} {noun}" if count == 1 else f"{amount(count)} {noun}s"


def moment(at: datetime) -> str:
    """A date and time in UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
