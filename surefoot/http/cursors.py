"""Where a page ended, as callers hand it back: opaque to them, and checked like all else that they send."""

import base64
import binascii
import json
from typing import Any

from surefoot.http.problems import Refusal


def write(*parts: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read(cursor: str, parts: int) -> list[str]:
    """The parts of a cursor. Raises `Refusal` for what was not written here."""
    try:
        found: Any = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != parts or not all(isinstance(part, str) for part in found):
        raise Refusal(422, "invalid-cursor", "this cursor was not given out here: begin without one")
    return found
