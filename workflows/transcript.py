"""What was said, each entry once: the entries that this run recorded, and where the earlier ones lie.

An entry is in history as the result of the activity (or the input, or the signal) that made it, so it is rebuilt by
replay and never carried along: a later run of the job points at the earlier run and its number of entries. Since the
server forgets closed runs after a while, a run adopts what lies in runs that ended long ago before it records anything.
"""

from collections.abc import Sequence
from datetime import datetime

from workflows.contracts import Logged, Segment, TranscriptPage

HANDED_BYTES = 1_000_000
"""Most bytes of entries that go into one `call_model`; what is larger is read by query."""

PAGE_BYTES = 1_000_000
"""Most bytes of entries in one page, unless a single entry is larger."""


class Transcript:
    """The entries of this run. `earlier` are whole segments of earlier runs of the same job, in order.

    `tail` are the last entries of the last of these, as far as no model call was handed them: without them a worker
    would have to ask that run, and replay the whole of it, for its last few words.
    """

    def __init__(self, earlier: list[Segment], tail: Sequence[Logged] = ()) -> None:
        self.earlier = list(earlier)
        self._tail = list(tail)
        self.own: list[Logged] = []
        self._sizes: list[int] = []
        self._handed = 0

    def __len__(self) -> int:
        return sum(segment.entries for segment in self.earlier) + len(self.own)

    def append(self, *entries: Logged) -> None:
        for entry in entries:
            self.own.append(entry)
            self._sizes.append(len(entry.model_dump_json(exclude_unset=True).encode()))

    def hand_over(self) -> tuple[int, list[Logged] | None]:
        """How many own entries the last call was handed, and those that came since (None if too large)."""
        base = self._handed
        new = self.own[base:] if sum(self._sizes[base:]) <= HANDED_BYTES else None
        self._handed = len(self.own)
        return base, new

    def hand_over_tail(self) -> list[Logged]:
        """What no call was handed yet of earlier runs; once."""
        tail, self._tail = self._tail, []
        return tail

    def tail(self, limit: int) -> list[Logged]:
        """What the next run hands over of this one; nothing if that is more than `limit` bytes."""
        if not self.own:
            return self._tail
        return self.own[self._handed :] if sum(self._sizes[self._handed :]) <= limit else []

    def oldest_end(self) -> datetime | None:
        """When the first of the earlier runs ended."""
        return min((segment.ended for segment in self.earlier if segment.ended is not None), default=None)

    def adopt(self, entries: Sequence[Logged]) -> None:
        """Take over all that earlier runs recorded. Only at a run's beginning: what comes later keeps its number."""
        assert not self.own, "this run has recorded entries already"
        self.earlier, self._tail = [], []
        self.append(*entries)

    def page(self, start: int) -> TranscriptPage:
        """Own entries from `start` on, as many as a page holds, at least one if there is one."""
        end, size = start, 0
        while end < len(self.own) and (end == start or size + self._sizes[end] <= PAGE_BYTES):
            size += self._sizes[end]
            end += 1
        return TranscriptPage(start=start, entries=self.own[start:end], total=len(self.own), earlier=self.earlier)

    def segments(self, run_id: str, now: datetime) -> list[Segment]:
        """What the next run is told: the earlier segments and this run's own."""
        own = [Segment(run_id=run_id, entries=len(self.own), ended=now)] if self.own else []
        return [*self.earlier, *own]
