"""What a job keeps of what was said and done, and how it is read: entries, epochs, segments, pages.

Entries never change. What a model sees of them is said by an `Epoch`, where they lie by a `Segment`.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from workflows.contracts.messages import Message, Note, Result, Turn
from workflows.contracts.values import Record

Deed = Literal[
    "approved",  # by one person; `missing` says how many more are needed
    "answered",
    "denied",
    "granted",  # and the tool for calls to come as well: `grant`
    "used_grant",  # allowed by a grant that was given earlier
    "happened",  # an unknown outcome was settled, in one of three ways
    "not_happened",
    "gave_up",
    "performed",  # a call that was let through has run
    "reminded",
    "escalated",
    "expired",
    "refused",  # a word came that had no effect: `text` says why
    "steered",
    "stopped",
    "cancelled",
    "paused",
    "resumed",
    "compacted",  # old entries are seen by the model in short from now on: `epoch`
    "not_compacted",  # they should have been summed up, and were not: `text` says why
]


class Epoch(Record):
    """How a job's entries are seen by its models from the moment on at which there were `began` of them.

    Results before entry `trim_until` are seen by their beginnings. What came before entry `summary_until` is seen as
    the summary that the audit entry `summary_at` holds. Entries are numbered over all runs, audits included; they
    themselves stay as they are. `before` and `after` are about how many tokens a call took and takes.
    """

    number: int
    began: int
    trim_until: int = 0
    summary_at: int | None = None
    summary_until: int = 0
    before: int = 0
    after: int = 0


class Audit(Record):
    """What a person did to a job, or a clock in a person's absence, and each new epoch. Never told to the model.

    `digest` is that of the arguments that were decided on, `edited_digest` of those that took their place.
    """

    kind: Literal["audit"] = "audit"
    deed: Deed
    at: datetime
    by: str | None = None
    roles: list[str] = []
    call: str | None = None
    tool: str | None = None
    digest: str | None = None
    edited_digest: str | None = None
    text: str | None = None
    missing: int = 0
    grant: str | None = None
    epoch: Epoch | None = None
    summary: str | None = None


Logged = Annotated[Message | Turn | Result | Note | Audit, Field(discriminator="kind")]
"""What a job keeps: all that was said, and who did what."""


class Segment(Record):
    """The first `entries` transcript entries of the run `run_id` of this job, or of `job`, until it `ended`."""

    run_id: str
    entries: int
    ended: datetime | None = None
    job: str | None = None


class ReadSegment(Record):
    """What an earlier run of this job (or of `job`) recorded, from entry `start` on."""

    run_id: str
    start: int = 0
    job: str | None = None


class TranscriptPage(Record):
    """A slice of one run's own entries, from `start`; `total` is how many the run has."""

    start: int
    entries: list[Logged]
    total: int
    earlier: list[Segment] = []
