"""So many of something, in words: one is a line, two are lines.

Whoever tells people or models a number says it by this.
"""


def noun_for(count: float, noun: str) -> str:
    """The noun as it stands behind the number; nouns here have regular plurals."""
    return noun if count == 1 else f"{noun}s"


def counted(count: float, noun: str) -> str:
    """`1 round`, `0 rounds`, `12,500 lines`, `0.5 seconds`."""
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {noun_for(count, noun)}"
