"""What every agent's tool returns: 2,000 bytes of real text, other ones in each round, and how many were taken.

The count tells where a job ended that was killed on its way.
"""

from itertools import count
from pathlib import Path

BYTES = 2_000
STRIDE = 977
"""A prime: a thousand rounds see a thousand different slices."""

ROOT = Path(__file__).resolve().parent.parent


def _text() -> str:
    files = [ROOT / "LICENSE", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "activities").rglob("*.py"))]
    whole = "".join(path.read_text(encoding="utf-8") for path in files)
    return whole.encode("ascii", "ignore").decode()  # one byte a character


TEXT = _text()
_taken = count()
taken = 0
"""Slices that this process has handed out."""


def take(number: int) -> str:
    """The slice of round `number`."""
    global taken
    taken = next(_taken) + 1
    start = number * STRIDE % (len(TEXT) - BYTES)
    return TEXT[start : start + BYTES]
