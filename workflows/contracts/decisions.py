"""What people are asked, what they answer, and what becomes of it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from workflows.contracts.values import JsonObject, Record, State

Choice = Literal["approve", "answer", "deny"]

Settlement = Literal["happened", "not_happened", "give_up"]

Risk = Literal["low", "normal", "high"]
"""What a tool's author says is at stake in its calls, for people to sort by."""

OnTimeout = Literal["wait", "deny", "fail", "escalate"]


class Asking(Record):
    """How a call is put to people. Times are in seconds from when it was asked.

    `allowed` are the decisions that may be made (`edit`: approve with other arguments; `grant`: approve calls to come).
    `approvers` are roles, one of which whoever decides must have (empty: anybody), `quorum` is how many different
    people must approve, and `self_approval` whether the person for whom the job works may be one of them. Reminders
    come every `remind` seconds. After `expires` seconds `on_timeout` says what happens; `escalate` asks the roles
    `escalate_to` instead, and then waits. `risk` changes nothing but what people see first.
    """

    allowed: list[str] = ["approve", "edit", "answer", "deny", "grant"]
    approvers: list[str] = []
    quorum: int = 1
    self_approval: bool = True
    expires: float | None = None
    on_timeout: OnTimeout = "wait"
    escalate_to: list[str] = []
    remind: float | None = None
    risk: Risk = "normal"


class GrantTerms(Record):
    """That a tool needs no further decisions in this job: for `count` calls, within `seconds`, with these arguments.

    `arguments` are those that must be equal; a call may have others besides.
    """

    count: int = Field(ge=1, le=1000)
    seconds: float = Field(gt=0)
    arguments: JsonObject = {}


class Grant(State):
    """A grant as it stands: how many calls it still lets through, and until when."""

    id: str
    tool: str
    by: str
    until: datetime
    left: int
    arguments: JsonObject = {}


class Decision(Record):
    """A person's answer to one pending call, bound to the call's id and the digest of its arguments.

    `arguments` (with approve) replaces the arguments; `text` is the answer, or the reason of a denial. `roles` are
    those that whoever authenticated the person vouches for. `grant` (with approve) lets calls to come through as well.
    """

    call: str
    digest: str
    choice: Choice
    arguments: JsonObject | None = None
    text: str | None = None
    by: str = "unknown"
    roles: list[str] = []
    grant: GrantTerms | None = None


class Resolution(Record):
    """A person's word on an unknown outcome: it happened (with `result`), it did not (run it), or give up."""

    call: str
    choice: Settlement
    result: str | None = None
    by: str = "unknown"
    roles: list[str] = []


class Vote(Record):
    """One person's approval of a call, with the roles that the person had."""

    by: str
    roles: list[str] = []
    at: datetime


class Decided(Record):
    """What was decided on a call, by whom and when; `performed` once it was carried out.

    `missing` approvals of other people are still needed before it takes effect.
    """

    call: str
    choice: str
    by: str
    at: datetime
    text: str | None = None
    digest: str = ""
    edited_digest: str | None = None
    performed: bool = False
    missing: int = 0


class Pending(Record):
    """A call that waits for a person, with everything that the person needs.

    Without `self_approval` those that are `barred` can't approve it: for whom the job works, and who steered it.
    `renewed` is how often approvals were set aside since it was asked, by an edit or an escalation.
    """

    call: str
    kind: Literal["decision", "unknown_outcome"]
    agent: str
    tool: str
    arguments: JsonObject
    digest: str
    preview: str | None = None
    why: str = ""
    asked_at: datetime
    expires_at: datetime | None = None
    allowed: list[str]
    problem: str | None = None
    approvers: list[str] = []
    quorum: int = 1
    approved_by: list[str] = []
    escalated: bool = False
    risk: Risk = "normal"
    tenant: str | None = None
    parameters: JsonObject = {}
    parent: str | None = None
    root: str | None = None
    self_approval: bool = True
    barred: list[str] = []
    renewed: int = 0


class Steer(Record):
    """A person's message to a running job; `id` makes sending it twice harmless."""

    id: str
    text: str
    by: str | None = None
