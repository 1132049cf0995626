"""Lists over many jobs, from what the server itself keeps: visibility and the memo that each job writes of itself."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey

from surefoot.errors import SurefootError, Unreadable
from surefoot.job import Job
from surefoot.rpc import reaching
from surefoot.texts import can_be_asked_for
from workflows.contracts import Pending, Record
from workflows.desk import AGENT, PHASE, STATUS, TAGS, TENANT

OUR_JOBS = "WorkflowType = 'AgentJob'"
ASKED_AT_ONCE = 20
SHOWN_WITHIN = timedelta(seconds=3)
"""How long a list waits for a job that must be asked itself."""

NONE: list[dict[str, Any]] = []
ENDS = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TERMINATED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TIMED_OUT: "failed",
}


class JobRow(Record):
    """One job in a list. With a `problem` it is what the server tells without the job's payloads being read."""

    job: str
    agent: str
    state: str
    status: str | None = None
    started_at: datetime
    ended_at: datetime | None = None
    problem: str | None = None
    tenant: str | None = None
    tags: tuple[str, ...] = ()


class JobFilter(Record):
    """Which jobs a list has: those that are as each field says that is not None. `tag`: it is one of theirs."""

    agent: str | None = None
    state: str | None = None
    status: str | None = None
    tenant: str | None = None
    tag: str | None = None

    def query(self) -> str | None:
        """The same in the server's own language; None if no job can be so. `state` has to be looked at again."""
        wanted = [OUR_JOBS, "ExecutionStatus != 'ContinuedAsNew'"]
        given: list[tuple[SearchAttributeKey[Any], str | None]] = [
            (AGENT, self.agent),
            (STATUS, self.status),
            (TENANT, self.tenant),
            (TAGS, self.tag),
        ]
        if self.state is not None and self.state != "ended":
            wanted.append("ExecutionStatus = 'Running'")
            given.append((PHASE, self.state))
        for key, value in given:
            if value is not None:
                if not can_be_asked_for(value):
                    return None
                wanted.append(f"{key.name} = '{value}'")
        return " AND ".join(wanted)


class InboxItem(Pending):
    """A pending call, with the job that it belongs to."""

    job: str


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
    try:
        with reaching(run.id):
            started = await run.memo_value("started", started, type_hint=datetime)
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
    )


async def list_inbox(temporal: Temporal, *, limit: int) -> list[InboxItem]:
    waiting: list[WorkflowExecution] = []
    query = f"{OUR_JOBS} AND ExecutionStatus = 'Running' AND {PHASE.name} IN ('waiting', 'paused')"
    with reaching("?"):
        async for run in temporal.list_workflows(query):
            waiting.append(run)
            if len(waiting) == limit:
                break
    places = asyncio.Semaphore(ASKED_AT_ONCE)
    found = await asyncio.gather(*(_pending(temporal, run, places) for run in waiting))
    items = [InboxItem(job=run.id, **dict(each)) for run, calls in zip(waiting, found, strict=True) for each in calls]
    return sorted(items, key=lambda item: item.asked_at)[:limit]


async def _pending(temporal: Temporal, run: WorkflowExecution, places: asyncio.Semaphore) -> list[Pending]:
    """From the memo where it holds everything, else from the job itself, else what the memo has."""
    try:
        with reaching(run.id):
            briefs = await run.memo_value("pending", NONE, type_hint=list[dict[str, Any]]) or []
            known = [_from_brief(brief) for brief in briefs]
            all_whole = all(brief["whole"] for brief in briefs)
            left_out = await run.memo_value("pending_left_out", 0, type_hint=int)
    except Unreadable as error:
        return [_unread(run, error)]
    if all_whole and not left_out:
        return known
    try:
        async with places:
            return await Job(temporal, run.id, answer_within=SHOWN_WITHIN).all_pending()
    except SurefootError as error:
        # That it is not all must be seen, since a person is about to decide on it.
        cut = {"problem": f"not all of this call can be shown: {error}"}
        return [
            call if brief["whole"] else call.model_copy(update=cut) for call, brief in zip(known, briefs, strict=True)
        ]


def _from_brief(brief: dict[str, Any]) -> Pending:
    """What the memo holds of a call."""
    return Pending.model_validate({**brief, "arguments": brief["arguments"] or {}})


def _unread(run: WorkflowExecution, error: Unreadable) -> Pending:
    """In the place of calls that may wait in a job and can't be read: whoever decides must know that there are some."""
    return Pending(
        call="?",
        kind="decision",
        agent=run.typed_search_attributes.get(AGENT) or "?",
        tool="?",
        arguments={},
        digest="",
        asked_at=run.start_time,
        allowed=[],
        problem=str(error),
        tenant=run.typed_search_attributes.get(TENANT),
    )
