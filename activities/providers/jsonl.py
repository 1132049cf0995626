"""Reads an answer of JSON lines while it comes in, so that a large one is never held whole.

Only a line feed ends a line: texts may hold the other characters that Python's `splitlines` goes by.
"""

import json
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from activities.providers.classify import classify
from workflows.contracts import JsonObject

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)


async def json_lines(response: "httpx2.Response") -> AsyncIterator[JsonObject]:
    """The objects of an answer that was not read yet. A line that is no object is left out, and logged."""
    rest = b""
    try:
        async for chunk in response.aiter_bytes():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if (found := _object(line)) is not None:
                    yield found
        if (found := _object(rest)) is not None:
            yield found
    except Exception as failure:
        raise classify(failure) from None
    finally:
        await response.aclose()


def _object(line: bytes) -> JsonObject | None:
    if not line.strip():
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        log.warning("a line of %d bytes in a batch's results is no JSON object", len(line))
        return None
    return found
