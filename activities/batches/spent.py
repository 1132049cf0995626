"""What the jobs of a batch have spent, added up as they end, and whether that reaches the batch's budget."""

from datetime import datetime, timedelta

from temporalio.client import Client

from activities.batches.jobs import ENDED, jobs_of
from workflows.batches.contracts import BatchSpent, Budget
from workflows.showing import COST, SAVED, TOKENS, UNMEASURED

MOMENT = timedelta(microseconds=1)


async def charged(client: Client, batch: str, spent: BatchSpent, until: datetime | None) -> BatchSpent:
    """`spent` with the jobs that ended before `until` and were not charged yet, or if that is None with all of them.

    `until` is the server's time. None is for when all jobs have ended, and their lists are complete.
    """
    if spent.until is not None and until is not None and until <= spent.until:
        return spent  # what came before was charged to the last moment: going back would charge it twice
    query = f"{jobs_of(batch)} AND {ENDED}"
    if until is not None:
        query += f" AND CloseTime < '{until.isoformat()}'"
    if spent.until is not None:
        query += f" AND CloseTime >= '{spent.until.isoformat()}'"
    tokens, cost, saved, unmeasured, jobs, last = 0, 0.0, 0.0, 0, 0, until or spent.until
    async for run in client.list_workflows(query):
        found = run.typed_search_attributes
        tokens += found.get(TOKENS) or 0
        cost += found.get(COST) or 0.0
        saved += found.get(SAVED) or 0.0
        unmeasured += found.get(UNMEASURED) or 0
        jobs += 1
        if until is None and run.close_time is not None:
            last = max(last or run.close_time, run.close_time + MOMENT)
    return BatchSpent(
        tokens=spent.tokens + tokens,
        cost_usd=spent.cost_usd + cost,
        unmeasured=spent.unmeasured + unmeasured,
        jobs=spent.jobs + jobs,
        until=last,
        saved_usd=spent.saved_usd + saved,
    )


def reached(budget: Budget, spent: BatchSpent) -> str | None:
    """Which limit is reached, in words; None if none is."""
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return f"the budget of {budget.tokens:,} tokens is spent ({spent.tokens:,} used)"
    if budget.cost_usd is not None and spent.cost_usd >= budget.cost_usd:
        return f"the budget of ${budget.cost_usd:.2f} is spent (${spent.cost_usd:.2f} used)"
    return None
