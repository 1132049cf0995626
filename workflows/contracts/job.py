"""What a job begins with, and what it leaves."""

from datetime import datetime

from workflows.contracts.limits import Limits
from workflows.contracts.outcome import Outcome
from workflows.contracts.places import BatchPlace, Lane
from workflows.contracts.state import JobState
from workflows.contracts.values import Record


class JobStart(Record):
    """The input of an `AgentJob` run.

    A new job, a reply to an ended one (`carry`), a continuation (`resumed`), or a fork: `carry` points at another job's
    transcript, and without a `message` the model goes on from there. A job that works for a call of another one has
    that as its `parent`, the first of the family as its `root`, and may spend what was `lent` to it for this message.
    Its models are asked as `lane` says; provider batches are waited for until `lane_until`. A `charged` job writes
    down what it spent where budgets look for it: only if the server is known to have a place for that. It
    waits for its place in a named `queue`, if it was started in one.
    """

    agent: str
    message: str = ""
    by: str | None = None
    limits: Limits | None = None
    total: Limits | None = None
    model: str | None = None
    tenant: str | None = None
    tags: list[str] = []
    carry: "JobState | None" = None
    resumed: bool = False
    parent: str | None = None
    root: str | None = None
    lent: Limits | None = None
    batch: BatchPlace | None = None
    lane: Lane = "sync"
    lane_until: datetime | None = None
    charged: bool = False
    queue: str | None = None


class JobEnd(Record):
    """The result of an `AgentJob` run: its outcome, and what a reply goes on from."""

    outcome: Outcome
    carry: JobState
