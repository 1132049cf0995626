"""A job as people see it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from workflows.contracts.decisions import Decided, Pending
from workflows.contracts.limits import Limits, Spent, Usage
from workflows.contracts.outcome import Outcome
from workflows.contracts.places import BatchPlace
from workflows.contracts.state import ChildJob
from workflows.contracts.values import Record

JobPhase = Literal["running", "waiting", "paused", "ended", "batched", "queued"]
"""`batched`: it waits for a provider batch."""


class JobView(Record):
    """The state of a job as people see it (`surefoot show`).

    `spent` is what was used of `limits`, since a person last wrote; `usage` is that of the whole job, as is `total`.
    `lent` is what a child may spend of its parent's limits; `children` are the last jobs that worked for this one.
    `epoch` counts how often what its models see was cut short. `begins_at` is when a job that has not begun will.
    """

    job: str
    agent: str
    state: JobPhase
    rounds: int = 0
    tool_calls: int = 0
    pending: list[Pending] = []
    decided: list[Decided] = []
    usage: Usage = Usage()
    entries: int = 0
    history_events: int = 0
    history_bytes: int = 0
    outcome: Outcome | None = None
    by: str | None = None
    tenant: str | None = None
    tags: list[str] = []
    model: str | None = None
    limits: Limits = Limits()
    total: Limits | None = None
    spent: Spent = Field(default_factory=Spent)
    parent: str | None = None
    root: str | None = None
    lent: Limits | None = None
    children: list[ChildJob] = []
    epoch: int = 0
    batch: BatchPlace | None = None
    queue: str | None = None
    begins_at: datetime | None = None
