"""Settings that are a number of seconds: every process that reads one accepts and refuses the same.

Imports nothing of Temporal's, since commands that only look come by here too.
"""

import math
import os
from collections.abc import Mapping

from activities.errors import DefinitionError

WORKER_IDLE = "SUREFOOT_WORKER_IDLE_SECONDS"


def read_seconds(name: str, environment: Mapping[str, str] = os.environ) -> float | None:
    """The value of this variable, None if it is not set or empty. Raises `DefinitionError`."""
    text = environment.get(name)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise DefinitionError(f"{name} is {text!r}: it must be a number of seconds, 0 or more.")
    return seconds
