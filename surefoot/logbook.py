"""All that a job keeps: what was said in it, and who did what, read in pages from the runs that recorded it.

What a run recorded never changes, so what was read of one is read once.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
)

from surefoot.asking import ask
from surefoot.copies import Copies
from surefoot.describing import describe
from surefoot.ends import ANSWER_WITHIN, fetch_end
from surefoot.errors import JobRunning, NoWorker
from surefoot.rpc import reaching
from workflows.contracts import Audit, Entry, Logged, Segment, TranscriptPage

PAST_THE_END = 2**31
"""An entry number that no run reaches: its page has no entries, but says how many there are."""


class Logbook:
    """A job on a server, by its id, as far as it is read.

    `since` is the number of the entry from which on all is new to whoever replied or forked, where that gave the job.
    """

    def __init__(
        self,
        temporal: Temporal,
        id: str,
        *,
        answer_within: timedelta = ANSWER_WITHIN,
        copies: Copies | None = None,
        since: int = 0,
    ) -> None:
        self._temporal = temporal
        self.id = id
        self.since = since
        self.answer_within = answer_within
        self._copies = Copies() if copies is None else copies

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def handle(self, run_id: str | None = None) -> WorkflowHandle[Any, Any]:
        """The job as Temporal knows it."""
        return self._temporal.get_workflow_handle(self.id, run_id=run_id)

    async def transcript(self) -> list[Entry]:
        """Everything said so far, by the model, the tools and people."""
        return [entry for entry in await self.log() if not isinstance(entry, Audit)]

    async def audit(self) -> list[Audit]:
        """Who did what to this job, and when; nothing of it can be changed."""
        return [entry for entry in await self.log() if isinstance(entry, Audit)]

    async def log(self, start: int = 0) -> list[Logged]:
        """Everything that the job keeps, in order, from entry number `start` on: what was said, and who did what."""
        return await self.entries(await self.segments(), start)

    async def read(self, start: int, most: int) -> tuple[list[Logged], int]:
        """At most so many entries from number `start` on, and how many there are in all."""
        segments = await self.segments()
        return await self.entries(segments, start, most), sum(segment.entries for segment in segments)

    async def entries(self, segments: Sequence[Segment], start: int = 0, most: int | None = None) -> list[Logged]:
        """What lies in these segments of the job, from entry number `start` on, at most `most` if that is given."""
        entries: list[Logged] = []
        for segment in segments:
            left = segment.entries if most is None else most - len(entries)
            entries += await self._entries(segment, min(start, segment.entries), left)
            start = max(0, start - segment.entries)
        return entries

    async def segments(self) -> list[Segment]:
        """Where the job's entries lie: in earlier runs, in those of a job that it was forked from, in its last run."""
        description = await self._describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            with suppress(JobRunning):  # somebody replied just now
                # Its end says so: a worker would have to replay the whole run to answer that.
                end = await fetch_end(self._temporal, self.id, answer_within=self.answer_within)
                return list(end.carry.earlier)
            description = await self._describe()
        empty = await self._page(description.run_id, PAST_THE_END)
        return [*empty.earlier, Segment(run_id=description.run_id, entries=empty.total)]

    async def _entries(self, segment: Segment, start: int, most: int) -> list[Logged]:
        entries: list[Logged] = []
        wanted = min(most, segment.entries - start)
        home = self if segment.job is None else Logbook(self._temporal, segment.job, answer_within=self.answer_within)
        while len(entries) < wanted:
            place = start + len(entries)
            more = self._copies.get(segment.run_id, place)
            if not more:
                more = (await home._page(segment.run_id, place)).entries
                self._copies.keep(segment.run_id, place, more)
            if not more:
                break
            entries += more
        return entries[:wanted]

    async def _page(self, run_id: str, start: int) -> TranscriptPage:
        page: TranscriptPage = await self._ask("transcript", TranscriptPage, run_id, start)
        return page

    async def _describe(self) -> WorkflowExecutionDescription:
        return await describe(self._temporal, self.id)

    async def _ask(self, query: str, kind: type[Any], run_id: str | None, *arguments: Any) -> Any:
        with reaching(self.id):
            try:
                return await ask(self.handle(run_id), query, kind, self.answer_within, arguments)
            except WorkflowQueryFailedError as error:
                raise NoWorker(f"job {self.id} can't be looked at: {error}") from None
