"""Lines that the server takes no jobs for: what is kept of them, and when they are so many that their batch is held.

What refuses a thousand lines is hardly the lines' fault. Each of them is a part of the batch's state, so what is kept
of one shrinks as they become more: 100,000 of them still fit into one payload.
"""

from collections.abc import Mapping

MANY = 1000
"""After each so many the batch is held; the reasons of so many are kept."""

CHARS = 500
UNTOLD = ""
"""What is kept in place of a reason."""


class Refusals:
    """Those of one batch: `before` are the ones that it knew of when this step began."""

    def __init__(self, batch: str, before: Mapping[int, str]) -> None:
        self._batch, self._before = batch, before
        self._last = ""

    def with_one(self, since: Mapping[int, str], line: int, why: str) -> dict[int, str]:
        """Those since the step began, with one more."""
        self._last = f"line {line}: {why[:CHARS]}"
        told = why[:CHARS] if len(self._before) + len(since) < MANY else UNTOLD
        return {**since, line: told}

    def too_many(self, since: Mapping[int, str]) -> str | None:
        """Why the batch is to be held, if it is."""
        refused = len(self._before.keys() | since.keys())
        if refused // MANY <= len(self._before) // MANY:
            return None
        return (
            f"the server took no job for {refused:,} lines so far; the last one is {self._last or 'in the log'}. Mend"
            " that, resume the batch, and then try these lines again:"
            f" surefoot batch retry {self._batch} --failed"
        )
