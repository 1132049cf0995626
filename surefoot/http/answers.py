"""What callers get, where it is not a value of `workflows/contracts/` itself."""

from typing import Literal

from pydantic import BaseModel, Field

from surefoot.batches import BatchView
from surefoot.batches.lanes import LaneView
from surefoot.http.people import Permission, Person
from surefoot.http.problems import Fault, Problem
from surefoot.http.rights import rights
from surefoot.inbox import InboxItem
from surefoot.lists import JobRow
from surefoot.queues import QueueView
from workflows.contracts import Audit, Decided, Entry

Cursor = str | None
NEXT = Field(default=None, description="Give this as `cursor` to get what follows; null at the end.")


class JobRef(BaseModel):
    """A job, by its id."""

    job: str


class JobPage(BaseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobRow]
    next: Cursor = NEXT


class BatchRef(BaseModel):
    """A batch, by its id."""

    batch: str


class SubmittedBatch(BaseModel):
    """A batch that was started, or had been; with `skip_bad` how many lines it leaves out, and the first of them."""

    batch: str
    lines: int
    skipped: int = 0
    bad: list[Fault] = []


class TriedAgain(BaseModel):
    """How many lines of a batch are tried again."""

    batch: str
    again: int


class BatchPage(BaseModel):
    """A page of batches: those under way first, then those that have ended, the last one first."""

    batches: list[BatchView]
    next: Cursor = NEXT


class QueueRef(BaseModel):
    """A queue, by its name."""

    queue: str


class QueueList(BaseModel):
    """Queues by name."""

    queues: list[QueueView]


class LaneRef(BaseModel):
    """A lane, by its name."""

    lane: str


class LaneList(BaseModel):
    """Lanes by name."""

    lanes: list[LaneView]


class NumberedEntry(BaseModel):
    """An entry with its number, which never changes."""

    number: int
    entry: Entry


class NumberedAudit(BaseModel):
    """An entry of the audit with its number, which never changes."""

    number: int
    entry: Audit


class TranscriptPage(BaseModel):
    """A page of what was said. Numbers that are missing belong to the audit."""

    entries: list[NumberedEntry]
    next: int | None = Field(default=None, description="Give this as `start` to get what follows; null at the end.")


class AuditPage(BaseModel):
    """A page of who did what. Numbers that are missing belong to the transcript."""

    entries: list[NumberedAudit]
    next: int | None = Field(default=None, description="Give this as `start` to get what follows; null at the end.")


class WaitingCall(InboxItem):
    """A call that waits: what may be decided on it is `allowed`, what whoever asks may is `may`; `note`: why less."""

    may: list[str]
    note: str = ""

    @classmethod
    def seen_by(cls, person: Person, item: InboxItem) -> "WaitingCall":
        given = rights(item, person)
        return cls(**dict(item), may=[word for word in item.allowed if word in given.may], note=given.note)


class InboxPage(BaseModel):
    """A page of calls that wait for a person, the oldest first."""

    items: list[WaitingCall]
    next: Cursor = NEXT


class Taken(BaseModel):
    """What became of a decision: `applied`, or `sent`: the server keeps it until a worker is up."""

    job: str
    call: str
    status: Literal["applied", "sent"]
    decided: Decided | None = None


class TakenOrNot(BaseModel):
    """What became of one decision of many; `refused` ones changed nothing, and `problem` says why."""

    job: str
    call: str
    status: Literal["applied", "sent", "refused"]
    decided: Decided | None = None
    problem: Problem | None = None


class ManyTaken(BaseModel):
    """One result for each decision, in their order."""

    results: list[TakenOrNot]


class Me(BaseModel):
    """Who a request comes from, and what that person may do."""

    name: str
    roles: list[str]
    permissions: list[Permission]
    csrf: str = Field(default="", description="With a session: what X-CSRF-Token must say.")
