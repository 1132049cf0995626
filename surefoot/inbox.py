"""What waits for people, over all jobs, from what the server itself keeps: visibility, and the memo each job writes.

The server sorts by nothing of ours, but can count. So a page of the oldest is found by narrowing down the time until
which about as many jobs were asked as a page has: of a hundred thousand jobs no more are read than are shown.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution

from surefoot.errors import SurefootError, Unreadable, WrongValue
from surefoot.job import Job
from surefoot.lists import ASKED_AT_ONCE, OUR_JOBS, conditions
from surefoot.rpc import reaching
from workflows.contracts import Pending, Record
from workflows.showing import AGENT, ASKED_AT, PHASE, TENANT

SHOWN_WITHIN = timedelta(seconds=3)
"""How long a list waits for a job that must be asked itself."""

AGES = [timedelta(days=365), timedelta(days=30), timedelta(days=7), timedelta(days=1), timedelta(hours=1)]
"""Where the search for a page's end looks first."""

CLOSE = timedelta(milliseconds=1)
UNREAD = "?"
"""In the place of what can't be read of a call."""

NONE: list[dict[str, Any]] = []


class InboxItem(Pending):
    """A pending call, with the job that it belongs to."""

    job: str


class InboxPage(Record):
    """Calls that wait, those of the job that has waited for longest first; `after` is where the next page begins."""

    items: list[InboxItem]
    after: str | None = None


async def list_inbox(
    temporal: Temporal,
    *,
    jobs: int,
    after: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
) -> InboxPage:
    """The calls of the `jobs` jobs that have waited for longest, behind the page that ended with `after`.

    Raises `WrongValue` for an `after` that no page ended with.
    """
    found = conditions([(AGENT, agent), (TENANT, tenant)])
    if found is None:
        return InboxPage(items=[])
    waits = [OUR_JOBS, "ExecutionStatus = 'Running'", f"{PHASE.name} IN ('waiting', 'paused')"]
    query = " AND ".join([*waits, *found])
    since, passed = _place(after)
    with reaching("?"):
        waiting, whole = await _oldest(temporal, query, since, passed, jobs)
    shown = waiting[:jobs]
    last = shown[-1] if shown and not (whole and len(waiting) <= jobs) else None
    return InboxPage(
        items=await _items(temporal, shown), after=f"{_asked(last).isoformat()}~{last.id}" if last else None
    )


async def _oldest(
    temporal: Temporal, query: str, since: datetime | None, passed: str, jobs: int
) -> tuple[list[WorkflowExecution], bool]:
    """At least `jobs` jobs that were asked since then, oldest first, if there are so many; whether these are all."""
    if since is not None:
        query += f" AND {ASKED_AT.name} >= '{since.isoformat()}'"
    until = await _end_of_page(temporal, query, since, jobs + 1)
    narrowed = query if until is None else f"{query} AND {ASKED_AT.name} <= '{until.isoformat()}'"
    found = [run async for run in temporal.list_workflows(narrowed)]
    found.sort(key=_key)
    if since is not None:
        found = [run for run in found if _key(run) > (since, passed)]
    return found, until is None


async def _end_of_page(temporal: Temporal, query: str, since: datetime | None, jobs: int) -> datetime | None:
    """A time until which at least `jobs` jobs were asked, and not many more; None if there are not many more at all."""

    async def count(until: datetime) -> int:
        return (await temporal.count_workflows(f"{query} AND {ASKED_AT.name} <= '{until.isoformat()}'")).count

    most = 2 * jobs
    if (await temporal.count_workflows(query)).count <= most:
        return None
    now = datetime.now(UTC)
    low, high = since or datetime.min.replace(tzinfo=UTC, year=2020), now
    guesses = [now - age for age in AGES]
    while high - low > CLOSE:
        middle = next((guess for guess in guesses if low < guess < high), low + (high - low) / 2)
        counted = await count(middle)
        if jobs <= counted <= most:
            return middle
        low, high = (middle, high) if counted < jobs else (low, middle)
    return high


def _asked(run: WorkflowExecution) -> datetime:
    return run.typed_search_attributes.get(ASKED_AT) or run.start_time


def _key(run: WorkflowExecution) -> tuple[datetime, str]:
    return _asked(run), run.id


def _place(after: str | None) -> tuple[datetime | None, str]:
    """When the last job of the page before was asked, and its id."""
    if after is None:
        return None, ""
    at, _, job = after.partition("~")
    try:
        return datetime.fromisoformat(at).astimezone(UTC), job
    except (ValueError, OverflowError):
        raise WrongValue(f"no page of the inbox ended with {after[:100]!r}: begin again without it") from None


async def _items(temporal: Temporal, waiting: Sequence[WorkflowExecution]) -> list[InboxItem]:
    places = asyncio.Semaphore(ASKED_AT_ONCE)
    found = await asyncio.gather(*(_pending(temporal, run, places) for run in waiting))
    return [InboxItem(job=run.id, **dict(each)) for run, calls in zip(waiting, found, strict=True) for each in calls]


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
        call=UNREAD,
        kind="decision",
        agent=run.typed_search_attributes.get(AGENT) or UNREAD,
        tool=UNREAD,
        arguments={},
        digest="",
        asked_at=run.start_time,
        allowed=[],
        problem=str(error),
        tenant=run.typed_search_attributes.get(TENANT),
    )
