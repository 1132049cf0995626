"""The jobs of one batch as the server sees them: begun by a line, counted, listed, ended.

A job's id is made of its batch and its line, and is used once: whoever begins a line a second time, after a crash,
finds that its job is there. Counts come from visibility, which lags: see `FRESH`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from workflows import labels
from workflows.batches.contracts import BatchLine, BatchOrder, LineClass
from workflows.contracts import BatchPlace, JobStart
from workflows.showing import BATCH, PHASE, STATUS

INCOMPLETE = (
    "hit_iteration_cap",
    "hit_tool_call_cap",
    "hit_token_cap",
    "hit_cost_cap",
    "hit_wall_clock",
    "no_progress",
    "cancelled",
)  # fmt: skip
"""Ends before a job was done: a limit, or a person."""

WAITS = f"{PHASE.name} IN ('waiting', 'paused', 'batched')"
"""Jobs that give their places in the window away: they wait for people, or for a provider batch."""

LATE = timedelta(seconds=5)
"""Ended jobs are charged when they ended so long ago, since visibility does not show an end at once."""

FRESH = timedelta(seconds=10)
"""For how long a job that was begun is not sure to be on the server's lists."""

TAKES_A_PLACE = f"{PHASE.name} IN ('running', 'queued')"
"""Jobs that take a place in the window. One in a named queue does, or all lines of the batch would go there at once."""

BATCHED = f"{PHASE.name} = 'batched'"
QUEUED = f"{PHASE.name} = 'queued'"
ENDED = "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
_SHORT = ", ".join(f"'{status}'" for status in INCOMPLETE)
ENDED_AS: Mapping[LineClass, str] = {
    "done": f"ExecutionStatus = 'Completed' AND {STATUS.name} = 'complete'",
    "incomplete": f"{ENDED} AND {STATUS.name} IN ({_SHORT})",
    "failed": f"{ENDED} AND ({STATUS.name} IS NULL OR {STATUS.name} NOT IN ('complete', {_SHORT}))",
}
"""In the server's own language, that a job ended so."""


@dataclass(frozen=True)
class Counts:
    """How many jobs of a batch run, wait for people (and run), are done, incomplete, or failed.

    `batched` ones wait for a provider batch (and run), `queued` ones for their places in a named queue (and run).
    """

    running: int
    waiting: int
    done: int
    incomplete: int
    failed: int
    batched: int = 0
    queued: int = 0

    @property
    def idle(self) -> int:
        """How many run and need nothing from a worker now."""
        return self.waiting + self.batched

    @property
    def ended(self) -> int:
        return self.done + self.incomplete + self.failed


def job_id(batch: str, line: BatchLine) -> str:
    """The id of the job of this line, at this attempt."""
    again = f"-{line.attempt}" if line.attempt > 1 else ""
    return f"{batch}-{line.number:06d}{again}"


def jobs_of(batch: str) -> str:
    """The batch's jobs, in the server's own language."""
    return f"WorkflowType = '{labels.WORKFLOW}' AND {BATCH.name} = '{batch}'"


async def begin(
    client: Client, queue: str, batch: str, line: BatchLine, order: BatchOrder, submitted: datetime | None = None
) -> str:
    """Start the job of a line unless it was started before; its id. `submitted` is when the batch was."""
    job = job_id(batch, line)
    limits = order.limits.changed(line.limits) if order.limits else line.limits
    start = JobStart(
        agent=line.agent or order.agent or "",
        message=line.input,
        by=order.by,
        **({"limits": limits} if limits else {}),
        **({"model": order.model} if order.model else {}),
        **({"tenant": order.tenant} if order.tenant else {}),
        **({"tags": order.tags} if order.tags else {}),
        batch=BatchPlace(batch=batch, line=line.number, custom_id=line.custom_id),
        **({"queue": order.queue} if order.queue is not None else {}),
        **({"lane": order.lane} if order.lane != "sync" else {}),
        **({"lane_until": submitted + timedelta(seconds=order.within)} if order.within and submitted else {}),
    )
    with suppress(WorkflowAlreadyStartedError):
        await client.start_workflow(
            labels.WORKFLOW,
            start,
            id=job,
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            memo=labels.memo(start, datetime.now(UTC)),
            search_attributes=labels.search_attributes(start),
            static_summary=labels.summary(start),
            # Batches of one tenant share what the tenant gets; a batch without a tenant is one of its own.
            priority=labels.priority(order.tenant or batch, order.priority, order.weight),
        )
    return job


async def count(client: Client, batch: str, *, in_queue: bool = False) -> Counts:
    """How the batch's jobs stand, over all attempts at its lines. Those `queued` are counted if they are `in_queue`."""
    jobs = jobs_of(batch)
    running = ended = 0
    for group in (await client.count_workflows(f"{jobs} GROUP BY ExecutionStatus")).groups:
        name = str(group.group_values[0])
        running += group.count if name == "Running" else 0
        ended += group.count if name not in ("Running", "ContinuedAsNew") else 0
    idle = await number(client, f"{jobs} AND ExecutionStatus = 'Running' AND {WAITS}") if running else 0
    batched = await number(client, f"{jobs} AND ExecutionStatus = 'Running' AND {BATCHED}") if idle else 0
    queued = await number(client, f"{jobs} AND ExecutionStatus = 'Running' AND {QUEUED}") if in_queue and running else 0
    done = await number(client, f"{jobs} AND {ENDED_AS['done']}") if ended else 0
    incomplete = await number(client, f"{jobs} AND {ENDED_AS['incomplete']}") if ended > done else 0
    failed = max(0, ended - done - incomplete)
    waiting = max(0, idle - batched)
    return Counts(
        running=running,
        waiting=waiting,
        done=done,
        incomplete=incomplete,
        failed=failed,
        batched=min(batched, idle),
        queued=min(queued, max(0, running - idle)),
    )


def class_of(run: WorkflowExecution) -> LineClass:
    """What the end of this run means for its line."""
    status = run.typed_search_attributes.get(STATUS)
    if run.status == WorkflowExecutionStatus.COMPLETED and status == "complete":
        return "done"
    return "incomplete" if status in INCOMPLETE else "failed"


async def ended_since(client: Client, batch: str, since: datetime) -> int:
    """How many of the batch's jobs have ended since then."""
    over = "ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"
    return await number(client, f"{jobs_of(batch)} AND {over} AND CloseTime >= '{since.isoformat()}'")


async def number(client: Client, query: str) -> int:
    return (await client.count_workflows(query)).count


async def running(client: Client, batch: str, which: str | None = None) -> AsyncIterator[WorkflowExecution]:
    """The batch's jobs that run or wait; perhaps only those that are as `which` says in the server's own language."""
    more = f" AND {which}" if which is not None else ""
    async for run in client.list_workflows(f"{jobs_of(batch)} AND ExecutionStatus = 'Running'{more}"):
        yield run
