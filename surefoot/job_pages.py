"""Lists of jobs a page at a time. A job that was replied to has several runs, and is listed where its newest one is."""

from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution

from surefoot import run_pages
from surefoot.lists import OUR_JOBS, JobFilter, JobRow, row_of


async def list_page(
    temporal: Temporal, wanted: JobFilter, *, limit: int, cursor: str | None = None
) -> tuple[list[JobRow], str | None]:
    """At most `limit` jobs behind `cursor`, and the cursor of what follows (None at the end).

    Raises `WrongValue` for a cursor that is none.
    """
    if (query := wanted.query()) is None:
        return [], None
    if wanted.state == "ended":
        query += " AND ExecutionStatus != 'Running'"

    async def rows(runs: list[WorkflowExecution]) -> list[JobRow]:
        found = [await row_of(run) for run in runs]
        return [row for row in found if wanted.state in (None, row.state)]

    return await run_pages.list_page(temporal, OUR_JOBS, query, rows, limit=limit, cursor=cursor)
