"""What the server keeps of a job from its start on, for lists to find and show it by.

Jobs that people start and jobs that other jobs start are labelled here alike; what changes while one runs is written
by `showing.py`.
"""

import hashlib
from datetime import datetime
from typing import Any

from temporalio.common import Priority, SearchAttributePair, TypedSearchAttributes

from workflows.batches.contracts import BatchNote, BatchState
from workflows.contracts import JobStart
from workflows.showing import AGENT, BATCH, PHASE, QUEUE, TAGS, TENANT

WORKFLOW = "AgentJob"
BATCH_WORKFLOW = "Batch"
BATCH_PART = "BatchPart"
MESSAGE_CHARS = 200
SUMMARY_CHARS = 80
FAIRNESS_KEY_BYTES = 64
"""Temporal takes no longer ones."""


def memo(start: JobStart, at: datetime | None = None) -> dict[str, str]:
    """The memo of a run that starts at `at`, or whenever it is due; a job that works for another one names it."""
    marked = start.carry or start
    family = {"parent": marked.parent, "root": marked.root}
    return {
        "agent": start.agent,
        "message": start.message[:MESSAGE_CHARS],
        **({"started": at.isoformat()} if at else {}),
        **{name: job for name, job in family.items() if job is not None},
    }


def search_attributes(start: JobStart) -> TypedSearchAttributes:
    """What lists find the job by; a reply and a fork are found as the job was that they go on from."""
    marked = start.carry or start
    found: list[SearchAttributePair[Any]] = [
        SearchAttributePair(AGENT, start.agent),
        SearchAttributePair(PHASE, "running" if start.queue is None else "queued"),
    ]
    if start.queue is not None:
        found.append(SearchAttributePair(QUEUE, start.queue))
    if marked.tenant is not None:
        found.append(SearchAttributePair(TENANT, marked.tenant))
    if marked.tags:
        found.append(SearchAttributePair(TAGS, marked.tags))
    if start.batch is not None:
        found.append(SearchAttributePair(BATCH, start.batch.batch))
    return TypedSearchAttributes(found)


def priority(tenant: str | None, number: int | None, weight: float | None) -> Priority:
    """What goes first where workers are short: `number` 1 before 5, and tenants of one number in turn, by `weight`.

    `tenant` is the fairness key; what a job starts itself, steps and other jobs, inherits all of it.
    """
    key = tenant
    if key is not None and len(key.encode()) > FAIRNESS_KEY_BYTES:
        key = hashlib.sha256(key.encode()).hexdigest()
    return Priority(priority_key=number, fairness_key=key, fairness_weight=weight)


def batch_memo(state: BatchState) -> dict[str, BatchNote]:
    """What lists of batches and views show: what was ordered, what holds it up, what it cost."""
    note = BatchNote(
        lines=state.lines,
        concurrency=state.concurrency,
        submitted=state.submitted,
        agent=state.order.agent,
        tenant=state.order.tenant,
        hold=state.hold,
        ending=state.ending,
        budget=state.budget,
        spent=state.spent,
        refused=len(state.refused),
        superseded=state.superseded,
        digest=state.digest,
        begun=state.begun,
        begun_at=state.begun_at,
        ordered=state.ordered,
        **({"queue": state.order.queue} if state.order.queue is not None else {}),
    )
    return {"batch": note}


def batch_search_attributes(batch: str, state: BatchState) -> TypedSearchAttributes:
    """What lists find the batch by; its jobs carry its id as well."""
    found: list[SearchAttributePair[Any]] = [SearchAttributePair(BATCH, batch)]
    if state.order.agent is not None:
        found.append(SearchAttributePair(AGENT, state.order.agent))
    if state.order.tenant is not None:
        found.append(SearchAttributePair(TENANT, state.order.tenant))
    return TypedSearchAttributes(found)


def summary(start: JobStart) -> str:
    """One line for Temporal's own pages."""
    return f"{start.agent}: {start.message[:SUMMARY_CHARS]}"
