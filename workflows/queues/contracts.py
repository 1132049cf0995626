"""What enters the history of queues, by the rules of `workflows/contracts/`: fields are only added, with defaults."""

from datetime import datetime

from pydantic import Field

from workflows.contracts import Record, State

JOB_QUEUE = "JobQueue"
MOST_AT_ONCE = 1000
"""Each job that holds a place is looked at every few seconds while others wait for one."""


MOST_SHOWN = 20


def queue_id(task_queue: str, name: str) -> str:
    """The id of the workflow that keeps this queue of the app whose workers serve `task_queue`."""
    return f"queue/{task_queue}/{name}"


class QueueTerms(Record):
    """How many jobs of a queue may run at a time, and begin in a minute; without a rate as many as there are places."""

    concurrency: int = Field(ge=1, le=MOST_AT_ONCE)
    rate: float | None = Field(default=None, gt=0)


class QueueEntry(Record):
    """A job that was started in the queue, perhaps by a batch, and what the app file says of the queue."""

    job: str
    terms: QueueTerms
    batch: str | None = None


class QueueChange(Record):
    """A person's word to a queue: what is given is changed. A `rate` of 0 is none; the empty `hold` takes it back."""

    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    rate: float | None = Field(default=None, ge=0)
    hold: str | None = None
    by: str | None = None


class HoldBatch(Record):
    """A batch's word to its queue: while it is `held`, none of its jobs begins; they keep their turn."""

    batch: str
    held: bool


class QueueState(State):
    """All that a queue is. `said` is what the app file said last: while it says the same, `terms` are kept.

    `waiting` jobs have not begun, those in `places` have and hold one each. Before `next_at` none may begin. Jobs of
    batches that are `held` are passed over; `batches` says which waiting job is of which. With `looks_for_held` it sees
    that a batch is gone that never took its word back; queues of earlier versions do so from their next run on.
    """

    name: str
    terms: QueueTerms
    said: QueueTerms
    waiting: list[str] = Field(default=[])
    places: list[str] = Field(default=[])
    hold: str | None = None
    next_at: datetime | None = None
    held: list[str] = Field(default=[])
    batches: dict[str, str] = Field(default={})
    looks_for_held: bool = False


class QueueNote(Record):
    """What views show of a queue beside its jobs' counts, kept in its memo. `held` are batches, the first of them."""

    name: str
    terms: QueueTerms
    hold: str | None = None
    held: list[str] = Field(default=[])


class EnterQueue(Record):
    """The order to put the job that gives it into a queue; `batch` is the one that it is of.

    `again`: it has entered before, and makes sure that the queue is there.
    """

    queue: str
    batch: str | None = None
    again: bool = False


class EnteredQueue(Record):
    """After so many seconds without a word the job enters again: somebody may have ended the queue."""

    again_after: float


class HoldInQueue(Record):
    """The order to tell a queue that a batch is held, or goes on."""

    queue: str
    word: HoldBatch


class LookAtQueue(Record):
    """The order to see which jobs hold places; the queue believes that these do."""

    queue: str
    places: list[str]


class QueueSeen(Record):
    """The jobs that hold places, and what the worker's app file says of the queue, if it has it."""

    places: list[str]
    terms: QueueTerms | None = None


def queue_memo(state: QueueState) -> dict[str, QueueNote]:
    """What views show of it."""
    held = {"held": state.held[:MOST_SHOWN]} if state.held else {}
    return {"queue": QueueNote(name=state.name, terms=state.terms, hold=state.hold, **held)}
