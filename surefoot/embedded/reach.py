"""Waiting for a Temporal server to answer. `Client.connect` fails at once when nobody listens."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from surefoot.errors import ServerNotReached

T = TypeVar("T")
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0

# The server answered, and no waiting will change its answer.
FINAL = ("Unauthenticated", "PermissionDenied", "InvalidCertificate", "CertificateUnknown", "UnknownIssuer")


async def wait_until_ready(connect: Callable[[], Awaitable[T]], *, address: str, seconds: float = 30.0) -> T:
    """What `connect` returns, tried again until it succeeds; each try is bounded too.

    Raises ServerNotReached after `seconds`, or at once for an answer that waiting won't change.
    """
    import asyncio

    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE
    while True:
        try:
            return await asyncio.wait_for(connect(), max(deadline - time.monotonic(), FIRST_PAUSE))
        except (RuntimeError, OSError, TimeoutError) as problem:
            said = str(problem) or "no answer"
            if any(word in said for word in FINAL):
                raise ServerNotReached(
                    f"The Temporal server at {address} refused the connection: {said}. "
                    "Check TEMPORAL_API_KEY and the TEMPORAL_TLS settings (or the profile)."
                ) from problem
            if time.monotonic() + pause >= deadline:
                raise ServerNotReached(
                    f"No Temporal server answered at {address} within {seconds:g} s: {said}. "
                    "Start it, or correct TEMPORAL_ADDRESS; without that setting Surefoot starts its own."
                ) from problem
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
