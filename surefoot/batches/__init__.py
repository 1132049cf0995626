"""Batches from Python: submit a file of jobs, see how they stand, change how they run, read what became of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from temporalio.client import Client as Temporal

from surefoot.batches.batch import Batch, BatchView
from surefoot.batches.checking import Checked, reading
from surefoot.batches.files import BadLine
from surefoot.batches.listing import list_page
from surefoot.batches.results import BatchResult, results
from surefoot.batches.retrying import retry
from surefoot.batches.submitting import submit
from surefoot.errors import BadLines, WrongValue
from surefoot.texts import marks, named, queue_name
from workflows.batches.contracts import BatchOrder, Budget
from workflows.contracts import Lane, Limits

__all__ = ["BadLine", "Batch", "BatchResult", "BatchView", "Batches", "Budget", "results", "retry"]

SHOWN = 20


class Batches:
    """The batches on one server. `queue` is the task queue that the app's workers serve."""

    def __init__(self, temporal: Temporal, queue: str) -> None:
        self._temporal, self._queue = temporal, queue

    def __getitem__(self, id: str) -> Batch:
        return Batch(self._temporal, id)

    async def page(self, *, limit: int = 50, after: str | None = None) -> tuple[Sequence[BatchView], str | None]:
        """At most so many batches, those under way first, and the place of what follows (None at the end).

        `after` is such a place; raises `WrongValue` for one that is none.
        """
        return await list_page(self._temporal, limit=limit, cursor=after)

    async def list(self, *, limit: int = 50) -> list[BatchView]:
        """Batches, those under way first, then those that have ended, the last one first."""
        found, after = await list_page(self._temporal, limit=limit)
        while after is not None and len(found) < limit:
            more, after = await list_page(self._temporal, limit=limit - len(found), cursor=after)
            found += more
        return found

    async def submit(
        self,
        file: str | Path,
        *,
        agent: str | None = None,
        id: str | None = None,
        template: str | None = None,
        skip_bad: bool = False,
        concurrency: int = 20,
        limits: Limits | None = None,
        model: str | None = None,
        tenant: str | None = None,
        tags: Iterable[str] = (),
        budget: Budget | None = None,
        priority: int | None = None,
        weight: float | None = None,
        lane: Lane = "sync",
        within: float | None = None,
        queue: str | None = None,
        by: str | None = None,
    ) -> Batch:
        """Check a file of jobs and start them; the same file with the same options again is the same batch.

        The file is JSONL, perhaps compressed (`.gz`), or with a `template` CSV. No job begins if a line can't be one
        (`BadLines`), unless `skip_bad`. `lane` says how models are asked; `within` so many seconds provider batches are
        waited for. In a named `queue` of the app file its jobs begin when they have places there. Raises `JobConflict`
        for an `id` that is taken, `WrongValue` for a file without lines or that can't be read, or a queue's name.
        """
        order = BatchOrder(
            agent=agent,
            limits=limits,
            model=model,
            by=named(by),
            priority=priority,
            weight=weight,
            lane=lane,
            within=within,
            queue=queue,
            **marks(tenant, list(tags)),
        )
        with reading(file, agent=agent, template=template) as found:
            if found.bad and not skip_bad:
                raise BadLines(_told(str(file), found), found.bad)
            return await self.submit_checked(found, order, id=id, concurrency=concurrency, budget=budget)

    async def submit_checked(
        self,
        found: Checked,
        order: BatchOrder,
        *,
        id: str | None = None,
        concurrency: int = 20,
        budget: Budget | None = None,
    ) -> Batch:
        """Start the good lines of a file that was checked. Raises as `submit` does."""
        if not found.good:
            raise WrongValue("there is no line that could be a job")
        if order.queue is not None:
            queue_name(order.queue)
        digest = found.digest(order)
        batch = self[id or f"batch-{digest[:12]}"]
        options = {"id": batch.id, "digest": digest, "concurrency": concurrency, "budget": budget}
        await submit(self._temporal, self._queue, found.lines(), order, **options)  # type: ignore[arg-type]
        return batch


def _told(name: str, found: Checked) -> str:
    first = "\n".join(f"  {line}" for line in found.bad[:SHOWN])
    more = f"\n  and {found.bad_count - SHOWN:,} more" if found.bad_count > SHOWN else ""
    return (
        f"{name}: {found.bad_count:,} of {found.bad_count + found.good:,} lines can't be jobs, so nothing was started"
        f" (--skip-bad goes on without them):\n{first}{more}"
    )
