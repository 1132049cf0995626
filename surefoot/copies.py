"""What a client has read of transcripts, so that it need not ask again: what a run recorded never changes.

Only a worker knows what a run recorded, and for one that has ended it has to replay the whole of it first. A copy may
hold fewer entries than the run has by now, never other ones; losing it costs a question.
"""

from collections import OrderedDict
from collections.abc import Sequence

from workflows.contracts import Logged

BYTES = 64 * 1024 * 1024
"""How much a client keeps before what was not used for longest goes."""

ENTRY_BYTES = 1000
"""What an entry takes beside its texts."""


class Copies:
    """An LRU of (run id, number of the first entry) → the entries of the run from there on that were read together."""

    def __init__(self, limit: int = BYTES) -> None:
        self._limit, self._bytes = limit, 0
        self._kept: OrderedDict[tuple[str, int], tuple[list[Logged], int]] = OrderedDict()

    def get(self, run_id: str, start: int) -> list[Logged]:
        """What is known from this entry on; empty if nothing is."""
        kept = self._kept.get((run_id, start))
        if kept is None:
            return []
        self._kept.move_to_end((run_id, start))
        return kept[0]

    def keep(self, run_id: str, start: int, entries: Sequence[Logged]) -> None:
        """Remember what was read."""
        if not entries:
            return
        _, before = self._kept.pop((run_id, start), ([], 0))
        size = sum(len(entry.model_dump_json(exclude_unset=True)) + ENTRY_BYTES for entry in entries)
        self._kept[run_id, start] = (list(entries), size)
        self._bytes += size - before
        while self._bytes > self._limit and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._bytes -= gone
