"""The worker's copies of transcripts, so that a model call is handed only what was added since the last one.

Entries of one run never change, so a copy is valid as far as it reaches; what is missing is asked of the workflow by
query, in pages. A copy is a cache: losing it costs one query, never an answer.
"""

from collections import OrderedDict
from collections.abc import Sequence

from temporalio.client import Client

from workflows.contracts import CallModel, Entry, TranscriptPage

CACHED_ENTRIES = 200_000
"""How many entries are kept over all jobs before the longest unused job's copy goes."""


class Transcripts:
    """An LRU of run id → that run's entries."""

    def __init__(self, cached_entries: int = CACHED_ENTRIES) -> None:
        self._limit = cached_entries
        self._runs: OrderedDict[str, list[Entry]] = OrderedDict()
        self._count = 0
        self.misses = 0

    async def read(self, client: Client, job: str, run_id: str, request: CallModel) -> Sequence[Entry]:
        """The whole transcript that `request` points at."""
        entries: list[Entry] = []
        for segment in request.earlier:
            entries += await self._upto(client, job, segment.run_id, segment.entries)
        entries += await self._own(client, job, run_id, request)
        return entries

    async def _own(self, client: Client, job: str, run_id: str, request: CallModel) -> list[Entry]:
        known = self._touch(run_id)
        if request.new is not None and len(known) >= request.base:
            fresh = request.new[len(known) - request.base :]
            self._extend(run_id, fresh)
        return await self._upto(client, job, run_id, request.length)

    async def _upto(self, client: Client, job: str, run_id: str, length: int) -> list[Entry]:
        """The first `length` entries of a run, read by query as far as they are not known here."""
        if len(self._touch(run_id)) < length:
            self.misses += 1
        handle = client.get_workflow_handle(job, run_id=run_id)
        while len(known := self._touch(run_id)) < length:
            page = await handle.query("transcript", len(known), result_type=TranscriptPage)
            if not page.entries:
                raise LookupError(
                    f"run {run_id} of job {job} has {page.total} transcript entries, {length} were expected:"
                    " was the job reset while this call ran?"
                )
            # While we waited, another call may have read the same page, or this copy was dropped.
            known = self._touch(run_id)
            if len(known) >= page.start:
                self._extend(run_id, page.entries[len(known) - page.start :])
        return known[:length]

    def _touch(self, run_id: str) -> list[Entry]:
        known = self._runs.setdefault(run_id, [])
        self._runs.move_to_end(run_id)
        return known

    def _extend(self, run_id: str, entries: Sequence[Entry]) -> None:
        self._runs[run_id].extend(entries)
        self._count += len(entries)
        while self._count > self._limit and len(self._runs) > 1:
            oldest, gone = self._runs.popitem(last=False)
            if oldest == run_id:  # never the one in use
                self._runs[oldest] = gone
                continue
            self._count -= len(gone)
