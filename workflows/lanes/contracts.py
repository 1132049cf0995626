"""What enters the history of lanes, by the rules of `workflows/contracts/`: fields are only added, with defaults.

A lane collects model requests of many jobs for one provider batch at a time. What it keeps of a request is a pointer:
the body is made from the job's transcript when the batch is built.
"""

import hashlib
from datetime import datetime
from typing import Literal

from pydantic import Field

from workflows.contracts import CallModel, Lane, ModelReply, Record, State

LANE_WORKFLOW = "Lane"
PROVIDER_BATCH = "ProviderBatch"

FULL = "full"
"""What a lane's memo is called that says whether it takes more."""


class LaneKey(Record):
    """What all requests of a lane share. `model` is written as agents write it, `credential` a print of the account.

    `queue` is the task queue whose workers know the agents; in lanes of earlier versions it is not told.
    """

    model: str
    endpoint: str
    credential: str
    betas: list[str] = []
    queue: str | None = None

    @property
    def id(self) -> str:
        """The id of the lane's workflow."""
        app = [] if self.queue is None else [f"queue {self.queue}"]
        told = "\n".join([self.model, self.endpoint, self.credential, *self.betas, *app])
        return f"lane/{self.model}/{hashlib.sha256(told.encode()).hexdigest()[:12]}"


class LaneTerms(Record):
    """When a lane sends what it has collected, and how patiently it waits; times are in seconds.

    At `requests` or `bytes`, when a request is `age` old, when one has only `lead` left until its deadline, or when all
    its jobs wait: looked at when nothing came for `quiet`, then ever more rarely until every `longest_look`. A batch is
    asked for after `poll`, then ever more rarely until every `longest_poll`. A batch that may have been created is
    looked for during `settle` before another one is. Without credit the lane pauses for `pause`, then ever longer until
    `longest_pause`. A request is tried `tries` times here before its job asks by itself. A worker that gives no sign
    for `beat` counts as dead. A history goes on in a new run after so many `events`.

    With `most` requests waiting or at the provider a lane is full; jobs try again after `room`. It carries pointers to
    all of them in one payload, of which Temporal takes no more than 2 MB: 42 to 120 bytes for each.
    """

    requests: int = Field(default=5000, ge=1, le=20_000)
    bytes: int = Field(default=50_000_000, ge=1)
    age: float = 900.0
    lead: float = 3600.0
    quiet: float = 2.0
    longest_look: float = 60.0
    poll: float = 10.0
    longest_poll: float = 300.0
    settle: float = 60.0
    pause: float = 60.0
    longest_pause: float = 3600.0
    tries: int = 3
    beat: float = 15.0
    events: int = 4000
    most: int = Field(default=10_000, ge=1, le=20_000)
    room: float = Field(default=30.0, gt=0)


class LaneLine(Record):
    """A request that waits: call `request` of run `run_id` of a job, whose body takes `size` bytes.

    `batch` is the batch of jobs that the job belongs to. `tries` counts the provider batches that it was in.
    Without `chains` it may not build on what the provider keeps of the last turn.
    """

    job: str
    run_id: str
    request: CallModel
    size: int
    handed: datetime
    until: datetime
    batch: str | None = None
    tries: int = 0
    chains: bool = True

    @property
    def name(self) -> str:
        """A short name that no other request has."""
        return hashlib.sha256(f"{self.job}/{self.request.turn}".encode()).hexdigest()[:12]


class HandIn(Record):
    """The order to hand a model call in, in the lane that `lane` says or means, to be answered `until` then."""

    request: CallModel
    lane: Lane
    until: datetime
    batch: str | None = None


class HandedIn(Record):
    """Where a model call went: into the lane `id`, or nowhere, and how the job is to ask by itself then, and why.

    With `full_for` the lane is full, and the call is to be handed in again after so many seconds.
    """

    lane: Literal["batch", "flex", "sync"]
    id: str | None = None
    why: str | None = None
    full_for: float | None = None


class LaneReply(Record):
    """What came of a request, for the job: a reply; or a `text` that says why there is none.

    If that is `final` the job's model has failed; if it is to be handed in `again`, it belongs to another lane now;
    else the job asks by itself.
    """

    turn: int
    reply: ModelReply | None = None
    text: str | None = None
    final: bool = False
    again: bool = False


class LaneBooks(Record):
    """What a lane's provider batches came to.

    `late` answers found no job any more that waited; after a crash also some that were handed back before it.
    """

    batches: int = 0
    answered: int = 0
    late: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    saved_usd: float = 0.0
    unmeasured: int = 0

    def __add__(self, other: "LaneBooks") -> "LaneBooks":
        return LaneBooks(**{name: getattr(self, name) + getattr(other, name) for name in LaneBooks.model_fields})


class LaneOut(Record):
    """A provider batch under way: the names of its `requests`, or none where there are too many of them in all.

    `returning`: they are being handed back to their jobs.
    """

    names: list[str]
    requests: int
    returning: bool = False


class LaneState(State):
    """All that a lane is: the pointers that wait, and which are on their way. `held` counts pauses in a row.

    `full` is what its memo says as `FULL`, for those who hand in. With `looks_for_out` it sees that a provider batch is
    gone that never came back to it; lanes of earlier versions do so from their next run on.
    """

    key: LaneKey
    terms: LaneTerms = LaneTerms()
    lines: list[LaneLine] = []
    out: dict[str, LaneOut] = {}
    hold: str | None = None
    hold_until: datetime | None = None
    held: int = 0
    books: LaneBooks = LaneBooks()
    full: bool = False
    looks_for_out: bool = False


class LaneChange(Record):
    """A person's word to a lane: with a `hold` it sends nothing until somebody takes that back, by an empty one."""

    hold: str
    by: str | None = None


class LaneLook(Record):
    """Do all jobs of these batches wait, as far as the server knows? `known` of them are known to wait for a lane."""

    batches: list[str]
    known: int


class LaneSeen(Record):
    all_wait: bool


class ProviderOrder(Record):
    """The input of a `ProviderBatch`: what one provider batch is made of. `batch` is its id, once that is known.

    `foreign` are batches that looked like ours and were not: ours was about to be created at `begun`, of `sent`
    requests. `skipped` are the places of requests that were not sent. `since` is when it was ordered.
    """

    lane: str
    key: LaneKey
    terms: LaneTerms
    lines: list[LaneLine]
    since: datetime
    batch: str | None = None
    foreign: list[str] = []
    skipped: list[int] = []
    begun: datetime | None = None
    sent: int = 0


class SubmitBatch(Record):
    """The order to create the provider batch `intent`, unless it was created."""

    intent: str
    order: ProviderOrder


class Submitted(Record):
    """What came of it: the batch's id; or why there is none, and whether that `pauses` the lane.

    `skipped` are the places of requests that were not sent: nobody waits for them, or they can't be sent this way.
    """

    batch: str | None = None
    skipped: list[int] = []
    problem: str | None = None
    pauses: bool = False
    begun: datetime | None = None
    sent: int = 0


class LookAtBatch(Record):
    model: str
    batch: str


class BatchSeen(Record):
    status: str
    ended: bool


class HandBack(Record):
    """The order to hand the results of a provider batch to its jobs; with `alone` each is told to ask by itself."""

    intent: str
    order: ProviderOrder
    alone: str | None = None


class HandedBack(Record):
    """What came of the requests: those that are to be tried again, and why the lane has to pause, if it has to.

    `foreign`: none of the results was ours.
    """

    again: list[LaneLine] = []
    pause: str | None = None
    books: LaneBooks = LaneBooks()
    foreign: bool = False


class LaneBack(Record):
    """What a provider batch tells its lane: that it is `returning` its requests, or has ended with these left."""

    intent: str
    returning: bool = False
    again: list[LaneLine] = []
    pause: str | None = None
    books: LaneBooks = LaneBooks()
