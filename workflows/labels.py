"""What the server keeps of a job from its start on, for lists to find and show it by.

Jobs that people start and jobs that other jobs start are labelled here alike; what changes while one runs is written
by `showing.py`.
"""

from datetime import datetime
from typing import Any

from temporalio.common import SearchAttributePair, TypedSearchAttributes

from workflows.contracts import JobStart
from workflows.showing import AGENT, PHASE, TAGS, TENANT

WORKFLOW = "AgentJob"
MESSAGE_CHARS = 200
SUMMARY_CHARS = 80


def memo(start: JobStart, at: datetime) -> dict[str, str]:
    """The memo of a run that starts at `at`; a job that works for another one names it."""
    marked = start.carry or start
    family = {"parent": marked.parent, "root": marked.root}
    return {
        "agent": start.agent,
        "message": start.message[:MESSAGE_CHARS],
        "started": at.isoformat(),
        **{name: job for name, job in family.items() if job is not None},
    }


def search_attributes(start: JobStart) -> TypedSearchAttributes:
    """What lists find the job by; a reply and a fork are found as the job was that they go on from."""
    marked = start.carry or start
    found: list[SearchAttributePair[Any]] = [
        SearchAttributePair(AGENT, start.agent),
        SearchAttributePair(PHASE, "running"),
    ]
    if marked.tenant is not None:
        found.append(SearchAttributePair(TENANT, marked.tenant))
    if marked.tags:
        found.append(SearchAttributePair(TAGS, marked.tags))
    return TypedSearchAttributes(found)


def summary(start: JobStart) -> str:
    """One line for Temporal's own pages."""
    return f"{start.agent}: {start.message[:SUMMARY_CHARS]}"
