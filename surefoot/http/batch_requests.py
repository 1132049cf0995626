"""What callers may send about batches: options of a file in the query, since the body is the file; words as JSON."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from surefoot.batches import Budget
from surefoot.http.requests import MOST, Id, Name, Reason, Sent
from workflows.batches.contracts import BatchEnding, LineClass
from workflows.contracts import Lane, Limits

Count = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
Concurrency = Annotated[int, Field(ge=1, le=10_000)]
LIMIT = "limit_"


class BatchOptions(BaseModel):
    """How the lines of a file are to become jobs."""

    model_config = ConfigDict(extra="forbid")

    agent: Name | None = Field(default=None, description="Who does the lines that name no agent.")
    id: Id | None = Field(
        default=None, description="Instead of an Idempotency-Key. Without both the same file is one batch."
    )
    template: str | None = Field(
        default=None, min_length=1, max_length=20_000, description="The file is CSV; {column} is the row's value."
    )
    skip_bad: bool = Field(default=False, description="Go on without the lines that can't be jobs.")
    concurrency: Concurrency = 20
    limit_rounds: Count | None = None
    limit_tool_calls: Count | None = None
    limit_tokens: Count | None = None
    limit_seconds: Amount | None = None
    limit_cost_usd: Amount | None = None
    model: Name | None = None
    tenant: Name | None = None
    tag: list[Name] = Field(default=[], max_length=20)
    budget_usd: Amount | None = None
    budget_tokens: Count | None = None
    lane: Lane = Field(default="sync", description="How models are asked: at once, or cheaper and later.")
    within_seconds: float | None = Field(
        default=None, gt=0, le=MOST, description="Then no provider batch is waited for."
    )
    queue: Name | None = Field(default=None, description="The jobs begin when this queue has places for them.")
    priority: int | None = Field(default=None, ge=1, le=5, description="1 goes before all others, 5 behind them.")
    weight: float | None = Field(
        default=None, ge=0.001, le=1000, description="Its share beside other tenants' batches."
    )

    def limits(self) -> Limits | None:
        """The limits of each job, if any were given."""
        given = self.model_dump(exclude_none=True)
        limits = {name.removeprefix(LIMIT): value for name, value in given.items() if name.startswith(LIMIT)}
        return Limits(**limits) if limits else None


class PauseBatch(Sent):
    """Begin no more jobs for now."""

    reason: Reason = None


class ResumeBatch(Sent):
    """Begin jobs again; with a budget in place of one that is spent."""

    budget_usd: Amount | None = None
    budget_tokens: Count | None = None

    def budget(self) -> Budget | None:
        """The new budget, if one was given."""
        if self.budget_usd is None and self.budget_tokens is None:
            return None
        return Budget(tokens=self.budget_tokens, cost_usd=self.budget_usd)


class SetConcurrency(Sent):
    """So many jobs at a time from now on."""

    concurrency: Concurrency


class CancelBatch(Sent):
    """Begin no more jobs at all; those that run finish, are told to stop, or are ended now."""

    running: BatchEnding = "finish"


class RetryBatch(Sent):
    """Lines to be tried again: those that ended so, or those with these ids."""

    kinds: list[LineClass] = Field(default=["failed", "incomplete"], min_length=1, max_length=3)
    custom_ids: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        default=None, min_length=1, max_length=10_000
    )


class PauseLane(Sent):
    """Why a lane is held."""

    reason: Reason = None
