"""The list of jobs, from what the server itself keeps of them: no job is asked, and no worker need be up."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey

from activities.batches.jobs import ENDED_AS
from surefoot.errors import Unreadable
from surefoot.rpc import reaching
from surefoot.texts import can_be_asked_for
from workflows.batches.contracts import LineClass
from workflows.contracts import Record
from workflows.showing import AGENT, BATCH, PHASE, QUEUE, STATUS, TAGS, TENANT

OUR_JOBS = "WorkflowType = 'AgentJob'"
ASKED_AT_ONCE = 20
"""How many jobs a list asks at the same time, where the server alone can't tell."""
ENDS = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TERMINATED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TIMED_OUT: "failed",
}


Wanted = tuple[SearchAttributeKey[Any], str | None]
"""A search attribute, and what it has to be; None: anything."""


class JobRow(Record):
    """One job in a list. With a `problem` it is what the server tells without the job's payloads being read.

    `parent` is the job that it works for, `root` the first of that family; None for a job that people started. `queue`
    is the named queue that it was started in.
    """

    job: str
    agent: str
    state: str
    status: str | None = None
    started_at: datetime
    ended_at: datetime | None = None
    problem: str | None = None
    tenant: str | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    root: str | None = None
    queue: str | None = None


class JobFilter(Record):
    """Which jobs a list has: those that are as each field says that is not None. `tag`: it is one of theirs.

    `batch` is the batch that they belong to, `queue` the named queue that they were started in, `end` how they ended:
    done, incomplete or failed.
    """

    agent: str | None = None
    state: str | None = None
    status: str | None = None
    tenant: str | None = None
    tag: str | None = None
    batch: str | None = None
    end: LineClass | None = None
    queue: str | None = None

    def query(self) -> str | None:
        """The same in the server's own language; None if no job can be so. `state` has to be looked at again."""
        wanted = [OUR_JOBS, "ExecutionStatus != 'ContinuedAsNew'"]
        given: list[Wanted] = [(AGENT, self.agent), (STATUS, self.status), (TENANT, self.tenant), (TAGS, self.tag)]
        given += [(BATCH, self.batch), (QUEUE, self.queue)]
        if self.end is not None:
            wanted.append(ENDED_AS[self.end])
        if self.state is not None and self.state != "ended":
            wanted.append("ExecutionStatus = 'Running'")
            given.append((PHASE, self.state))
        found = conditions(given)
        return None if found is None else " AND ".join([*wanted, *found])


def conditions(given: Sequence[Wanted]) -> list[str] | None:
    """In the server's own language, that a job is as each value says that is not None; None if no job can be so."""
    found: list[str] = []
    for key, value in given:
        if value is not None:
            if not can_be_asked_for(value):
                return None
            found.append(f"{key.name} = '{value}'")
    return found


async def list_jobs(temporal: Temporal, wanted: JobFilter, *, limit: int) -> list[JobRow]:
    rows: list[JobRow] = []
    if (query := wanted.query()) is None:
        return rows
    # A job that was replied to has several runs. The newest comes first: running ones do, then the last to end.
    seen: set[str] = set()
    with reaching("?"):
        async for run in temporal.list_workflows(query):
            if run.id in seen:
                continue
            seen.add(run.id)
            row = await row_of(run)
            if wanted.state in (None, row.state):
                rows.append(row)
            if len(rows) == limit:
                break
    return rows


async def row_of(run: WorkflowExecution) -> JobRow:
    attributes = run.typed_search_attributes
    ended = run.status is not None and run.status != WorkflowExecutionStatus.RUNNING
    started, problem = run.start_time, None
    family: dict[str, str | None] = {}
    try:
        with reaching(run.id):
            started = await run.memo_value("started", started, type_hint=datetime)
            family = {name: await run.memo_value(name, None, type_hint=str) for name in ("parent", "root")}
    except Unreadable as error:
        problem = str(error)
    return JobRow(
        job=run.id,
        agent=attributes.get(AGENT) or "?",
        state="ended" if ended else attributes.get(PHASE) or "running",
        status=attributes.get(STATUS) or ENDS.get(run.status) if ended and run.status else None,
        started_at=started,
        ended_at=run.close_time,
        problem=problem,
        tenant=attributes.get(TENANT),
        tags=tuple(attributes.get(TAGS) or ()),
        queue=attributes.get(QUEUE),
        **family,
    )
