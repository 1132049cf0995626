"""What enters the history of batches, by the rules of `workflows/contracts/`: fields are only added, with defaults."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from workflows.contracts import JsonObject, Lane, Limits, Record, State

BatchEnding = Literal["finish", "stop", "cancel"]
"""How a batch is given up. No more jobs begin; those that run end by themselves, are stopped, or are cancelled."""

LineClass = Literal["done", "incomplete", "failed"]
"""What became of a line whose job has ended: it is complete, ended before it was, or could not run."""


class BatchLine(Record):
    """One line of a batch file: a job to be. `number` is its place in the file, from 1; `attempt` counts retries."""

    number: int
    custom_id: str
    input: str
    agent: str | None = None
    limits: Limits | None = None
    metadata: JsonObject = {}
    attempt: int = 1


class BatchLines(Record):
    """The input of a `BatchPart`: lines that lie with the server for as long as their `batch` needs them."""

    lines: list[BatchLine]
    batch: str | None = None


class PartRef(Record):
    """Where some lines of a batch lie: the `BatchPart` of this id."""

    id: str
    lines: int


class BatchOrder(Record):
    """What all jobs of a batch begin with. A line's own agent and limits go before these.

    `lane` says how their models are asked; provider batches are waited for `within` so many seconds from submission on.
    In a named `queue` they begin when it has places for them.
    """

    agent: str | None = None
    limits: Limits | None = None
    model: str | None = None
    tenant: str | None = None
    tags: list[str] = []
    by: str | None = None
    priority: int | None = None
    weight: float | None = None
    lane: Lane = "sync"
    within: float | None = Field(default=None, gt=0)
    queue: str | None = None


class Budget(Record):
    """What the jobs of a batch may spend together before no more of them begin. None: no limit."""

    tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)


class BatchSpent(Record):
    """What the `jobs` that ended before `until` used. `unmeasured` counts requests whose price nobody knows.

    `saved_usd` is what cheaper lanes saved.
    """

    tokens: int = 0
    cost_usd: float = 0.0
    unmeasured: int = 0
    jobs: int = 0
    until: datetime | None = None
    saved_usd: float = 0.0


class BatchState(State):
    """All that a batch is, beside its jobs: small however many lines it has.

    `begun` counts the lines whose jobs were started, in the order of `parts`. `refused` are lines that no job could be
    started for, with what was wrong; of those behind the first 1,000 that is empty. `superseded` counts the ended jobs
    of lines that were tried again, by their ends. A `hold` with a time `held_until` ends by itself. `begun_at` is when
    more lines were last seen to have begun. `gone` counts the begun lines that were tried again though the server had
    no job of theirs. `queue_held`: the queue in which its jobs are was told to pass them over.
    """

    order: BatchOrder = BatchOrder()
    lines: int = 0
    parts: list[PartRef] = []
    begun: int = 0
    concurrency: int = 20
    budget: Budget = Budget()
    spent: BatchSpent = BatchSpent()
    hold: str | None = None
    ending: BatchEnding | None = None
    refused: dict[int, str] = {}
    superseded: dict[LineClass, int] = {}
    retries: list[str] = []
    digest: str = ""
    submitted: datetime
    held_until: datetime | None = None
    begun_at: datetime | None = None
    gone: int = 0
    queue_held: bool = False

    @property
    def ordered(self) -> int:
        """How many jobs there are to be in all: one for each line, and one for each time that a line is tried again."""
        return sum(part.lines for part in self.parts)


class BatchNote(Record):
    """What lists and views show of a batch beside its jobs' counts, kept in its memo.

    `begun` of the `ordered` jobs were begun, as it was known since `begun_at`; None: whoever wrote this did not say.
    """

    lines: int
    concurrency: int
    submitted: datetime
    agent: str | None = None
    tenant: str | None = None
    hold: str | None = None
    ending: BatchEnding | None = None
    budget: Budget = Budget()
    spent: BatchSpent = BatchSpent()
    refused: int = 0
    superseded: dict[LineClass, int] = {}
    digest: str = ""
    begun: int | None = None
    begun_at: datetime | None = None
    ordered: int = 0
    queue: str | None = None


class BatchChange(Record):
    """A person's word to a batch: the fields that are given are changed.

    `hold` is the reason for which no more jobs begin, the empty text takes it back.
    """

    concurrency: int | None = Field(default=None, ge=1)
    hold: str | None = None
    ending: BatchEnding | None = None
    budget: Budget | None = None
    by: str | None = None


class BatchRetry(Record):
    """Lines of a batch that are tried again, with what became of their jobs; `id` makes it harmless twice.

    `seen` is how many retries the batch had had when these were chosen: if there was another one since, which may have
    some of the same lines, this one has no effect. `gone` are the numbers of those lines that the server has no job of.
    """

    id: str
    parts: list[PartRef]
    superseded: dict[LineClass, int]
    seen: int | None = None
    gone: list[int] = []


class TendBatch(Record):
    """The order to look after a batch's jobs: to begin what there is room for, until something has to be decided."""

    batch: str
    state: BatchState


class Tended(Record):
    """How a batch stands. `parked`: nothing runs and nothing can begin, but some jobs wait.

    `ended`: every line's job has ended. `over_budget` says which limit is reached, `held_until` when that is over.
    `too_many_refused`: so many lines were refused that somebody has to look at it.
    """

    begun: int
    spent: BatchSpent
    refused: dict[int, str] = {}
    parked: bool = False
    ended: bool = False
    over_budget: str | None = None
    held_until: datetime | None = None
    too_many_refused: str | None = None


class LookForBatch(Record):
    """Is there this batch, and does it run? With a `kind`: this workflow of that type."""

    batch: str
    kind: str | None = None


class BatchFound(Record):
    runs: bool


class EndJobs(Record):
    """The order to stop, or to cancel, each job of a batch that runs; those that wait in a named queue never begin.

    With `finish` only these are taken out, and those that run go on.
    """

    batch: str
    how: BatchEnding


class BatchEnd(Record):
    """The result of a `Batch` run, and what a retry goes on from."""

    state: BatchState
    cancelled: bool = False
