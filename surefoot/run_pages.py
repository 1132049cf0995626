"""Lists of workflows a page at a time: a page goes on where the last one ended, without what came before being read.

A workflow may have several runs, perhaps on different pages. It is listed once, where its newest run is: what a page
has of older ones is left out, so a page may have fewer entries than it could.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from surefoot.errors import WrongValue
from surefoot.lists import ASKED_AT_ONCE
from surefoot.rpc import reaching
from surefoot.texts import can_be_asked_for

T = TypeVar("T")
IDS_AT_ONCE = 50
CHECKED = 8
"""Bytes of a cursor that say that the others were given out for this list."""
NO_LINKS = "ExecutionStatus != 'ContinuedAsNew'"
"""Runs that went on in another one are no entries."""


async def list_page(
    temporal: Temporal,
    kind: str,
    query: str,
    made: Callable[[list[WorkflowExecution]], Awaitable[list[T]]],
    *,
    limit: int,
    cursor: str | None = None,
) -> tuple[list[T], str | None]:
    """What is `made` of at most `limit` workflows behind `cursor`, and the cursor of what follows (None at the end).

    `query` says which runs are listed, `kind` which workflows they are of: both in the server's own language.
    Pages of which nothing is made are passed over. Raises `WrongValue` for a cursor that is none.
    """
    token = None if cursor is None else _read(cursor, query)
    rows: list[T] = []
    with reaching("?"):
        pages = temporal.list_workflows(query, page_size=limit, next_page_token=token)
        while not rows:
            await pages.fetch_next_page()
            rows = await made(await _newest(temporal, kind, pages.current_page or []))
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


async def _newest(temporal: Temporal, kind: str, runs: Sequence[WorkflowExecution]) -> list[WorkflowExecution]:
    """Those runs that are the newest of their workflow. One that is under way always is."""
    ended = {run.id for run in runs if run.status != WorkflowExecutionStatus.RUNNING}
    plain = sorted(id for id in ended if can_be_asked_for(id))
    newest: dict[str, tuple[datetime, str]] = {}
    for first in range(0, len(plain), IDS_AT_ONCE):
        ids = ", ".join(f"'{id}'" for id in plain[first : first + IDS_AT_ONCE])
        async for run in temporal.list_workflows(f"{kind} AND {NO_LINKS} AND WorkflowId IN ({ids})"):
            newest[run.id] = max(newest.get(run.id, (run.start_time, "")), (run.start_time, run.run_id))
    last = {id: run_id for id, (_, run_id) in newest.items()} | await _described(temporal, ended - set(plain))
    return [run for run in runs if run.id not in ended or last.get(run.id, run.run_id) == run.run_id]


async def _described(temporal: Temporal, ids: set[str]) -> dict[str, str]:
    """The newest runs of workflows whose ids can't be written in the server's language of queries."""
    places = asyncio.Semaphore(ASKED_AT_ONCE)

    async def one(id: str) -> tuple[str, str]:
        async with places:
            return id, (await temporal.get_workflow_handle(id).describe()).run_id

    return dict(await asyncio.gather(*(one(id) for id in sorted(ids))))
