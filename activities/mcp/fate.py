"""How far a request got on its way to a server: what tells a call that may be made again from one that may not.

The `mcp` package says "Connection closed" for both. Its transports run in the context of whoever sends, so what they
see is noted in a variable of that context.
"""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Fate:
    """`sent`: it was handed over, so it may have reached the server. `status`: its HTTP answer. `trouble`: in words."""

    sent: bool = True
    status: int | None = None
    trouble: str = ""


current: ContextVar[Fate | None] = ContextVar("fate", default=None)
"""Of the request that this context sends."""


class Unreachable(ConnectionError):
    """The server can't be had; nothing was sent to it. The text says why, and what to do."""


class EndUnseen(Exception):
    """A call was sent, or may have been, and its end was not seen."""
