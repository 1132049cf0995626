"""What time it is where the server is: its lists are asked for by its own times, and a worker's clock may be wrong.

A clock that is ahead would charge jobs to a time that is to come, and miss those that end until then; one that is
behind would not see what was begun just now.
"""

from datetime import UTC, datetime


class ServerClock:
    """Goes by when an attempt began, of which the server says the time: behind it by what the order was on its way."""

    def __init__(self, started: datetime) -> None:
        self._ahead = datetime.now(UTC) - started

    def now(self) -> datetime:
        return datetime.now(UTC) - self._ahead
