"""The worker's copies of transcripts, so that a model call is handed only what was added since the last one.

Entries of one run never change, so a copy is valid as far as it reaches; what is missing is asked of the workflow by
query, in pages. A copy is a cache: losing it costs one query, never an answer.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from workflows.contracts import CallModel, Logged, TranscriptPage

CACHED_BYTES = 256 * 1024 * 1024
"""How much is kept over all jobs before the longest unused job's copy goes."""

ENTRY_BYTES = 1000
"""What an entry takes beside its texts."""


async def fetch_page(client: Client, job: str, run_id: str, start: int) -> TranscriptPage:
    """A page of what a run of a job recorded, from entry `start` on, asked of its workflow.

    Raises a final `TranscriptLost` when the server has forgotten the run; what else fails may be tried again.
    """
    handle = client.get_workflow_handle(job, run_id=run_id)
    try:
        page: TranscriptPage = await handle.query("transcript", start, result_type=TranscriptPage)
        return page
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        raise ApplicationError(
            f"the server no longer has run {run_id} of job {job}, which recorded a part of what was said: the"
            " namespace's retention is shorter than SUREFOOT_ADOPT_SECONDS, or the run was deleted",
            type="TranscriptLost",
            non_retryable=True,
        ) from None


@dataclass
class _Copy:
    """The first entries of one run, and about how much memory they take."""

    entries: list[Logged] = field(default_factory=list)
    bytes: int = 0


class Transcripts:
    """An LRU of run id → that run's entries."""

    def __init__(self, cached_bytes: int = CACHED_BYTES) -> None:
        self._limit = cached_bytes
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self._bytes = 0
        self.misses = 0

    async def read(self, client: Client, job: str, run_id: str, request: CallModel) -> Sequence[Logged]:
        """The whole transcript that `request` points at."""
        entries: list[Logged] = []
        if request.tail:
            last = request.earlier[-1]
            self._add(last.run_id, last.entries - len(request.tail), request.tail)
        for segment in request.earlier:
            entries += await self._first(client, segment.job or job, segment.run_id, segment.entries)
        if request.new is not None:
            self._add(run_id, request.base, request.new)
        return entries + await self._first(client, job, run_id, request.length)

    async def _first(self, client: Client, job: str, run_id: str, length: int) -> list[Logged]:
        """The first `length` entries of a run; asked of it as far as they are not known here."""
        entries = self._known(run_id)[:length]
        if len(entries) == length:
            return entries
        self.misses += 1
        while len(entries) < length:
            page = await fetch_page(client, job, run_id, len(entries))
            if not page.entries:
                raise LookupError(
                    f"run {run_id} of job {job} has {page.total} transcript entries, {length} were expected:"
                    " was the job reset while this call ran?"
                )
            entries += page.entries
        # Other jobs' reads may have pushed this copy out meanwhile, so it is kept once it is whole.
        self._keep(run_id, entries[len(self._known(run_id)) :])
        return entries[:length]

    def _add(self, run_id: str, start: int, entries: Sequence[Logged]) -> None:
        """Keep what was handed over of a run from entry `start` on, if all before it is known."""
        known = len(self._known(run_id))
        if known >= start:
            self._keep(run_id, entries[known - start :])

    def _known(self, run_id: str) -> list[Logged]:
        if run_id not in self._copies:
            return []
        self._copies.move_to_end(run_id)
        return self._copies[run_id].entries

    def _keep(self, run_id: str, entries: Sequence[Logged]) -> None:
        copy = self._copies.setdefault(run_id, _Copy())
        self._copies.move_to_end(run_id)
        added = sum(len(entry.model_dump_json(exclude_unset=True)) + ENTRY_BYTES for entry in entries)
        copy.entries.extend(entries)
        copy.bytes += added
        self._bytes += added
        while self._bytes > self._limit and len(self._copies) > 1:
            _, gone = self._copies.popitem(last=False)
            self._bytes -= gone.bytes
