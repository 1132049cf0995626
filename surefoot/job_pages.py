"""Lists of jobs a page at a time: a page goes on where the last one ended, without what came before being read again.

A job that was replied to has several runs, perhaps on different pages. It is listed once, where its newest run is: what
a page has of older ones is left out, so a page may have fewer jobs than it could.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from surefoot.errors import WrongValue
from surefoot.lists import ASKED_AT_ONCE, OUR_JOBS, JobFilter, JobRow, row_of
from surefoot.rpc import reaching
from surefoot.texts import can_be_asked_for

IDS_AT_ONCE = 50
CHECKED = 8
"""Bytes of a cursor that say that the others were given out for this list."""


async def list_page(
    temporal: Temporal, wanted: JobFilter, *, limit: int, cursor: str | None = None
) -> tuple[list[JobRow], str | None]:
    """At most `limit` jobs behind `cursor`, and the cursor of what follows (None at the end).

    Raises `WrongValue` for a cursor that is none.
    """
    rows: list[JobRow] = []
    if (query := wanted.query()) is None:
        return rows, None
    if wanted.state == "ended":
        query += " AND ExecutionStatus != 'Running'"
    token = None if cursor is None else _read(cursor, query)
    with reaching("?"):
        pages = temporal.list_workflows(query, page_size=limit, next_page_token=token)
        while not rows:
            await pages.fetch_next_page()
            found = [await row_of(run) for run in await _newest(temporal, pages.current_page or [])]
            rows = [row for row in found if wanted.state in (None, row.state)]
            if pages.next_page_token is None:
                break
    following = pages.next_page_token
    return rows, _write(following, query) if following else None


def _write(token: bytes, query: str) -> str:
    return base64.urlsafe_b64encode(_check(token, query) + token).decode()


def _read(cursor: str, query: str) -> bytes:
    """The server's token in a cursor. The server itself takes one that it did not make for a fault, and tries again."""
    with suppress(binascii.Error, ValueError):
        whole = base64.b64decode(cursor, altchars=b"-_", validate=True)
        check, token = whole[:CHECKED], whole[CHECKED:]
        if token and check == _check(token, query):
            return token
    raise WrongValue(f"the cursor {cursor[:100]!r} was not given out here for such a list: begin without one")


def _check(token: bytes, query: str) -> bytes:
    return hashlib.sha256(query.encode() + token).digest()[:CHECKED]


async def _newest(temporal: Temporal, runs: Sequence[WorkflowExecution]) -> list[WorkflowExecution]:
    """Those runs that are the newest of their job. One that is under way always is."""
    ended = {run.id for run in runs if run.status != WorkflowExecutionStatus.RUNNING}
    plain = sorted(id for id in ended if can_be_asked_for(id))
    newest: dict[str, tuple[datetime, str]] = {}
    for first in range(0, len(plain), IDS_AT_ONCE):
        ids = ", ".join(f"'{id}'" for id in plain[first : first + IDS_AT_ONCE])
        query = f"{OUR_JOBS} AND ExecutionStatus != 'ContinuedAsNew' AND WorkflowId IN ({ids})"
        async for run in temporal.list_workflows(query):
            newest[run.id] = max(newest.get(run.id, (run.start_time, "")), (run.start_time, run.run_id))
    last = {id: run_id for id, (_, run_id) in newest.items()} | await _described(temporal, ended - set(plain))
    return [run for run in runs if run.id not in ended or last.get(run.id, run.run_id) == run.run_id]


async def _described(temporal: Temporal, ids: set[str]) -> dict[str, str]:
    """The newest runs of jobs whose ids can't be written in the server's language of queries."""
    places = asyncio.Semaphore(ASKED_AT_ONCE)

    async def one(id: str) -> tuple[str, str]:
        async with places:
            return id, (await temporal.get_workflow_handle(id).describe()).run_id

    return dict(await asyncio.gather(*(one(id) for id in sorted(ids))))
