"""All that a job is, beside its transcript: what continue-as-new and a reply carry on.

It changes in place while the job runs. What is kept of a job anywhere else is lost with the run.
"""

from datetime import datetime
from typing import Literal

from pydantic import Field

from workflows.contracts.agents import AgentSpec
from workflows.contracts.calls import CallPlan
from workflows.contracts.decisions import Decided, Decision, Grant, Steer, Vote
from workflows.contracts.limits import Limits, Spent
from workflows.contracts.messages import CallPart, Result
from workflows.contracts.outcome import Finding, NotDone, Status
from workflows.contracts.places import Batched, BatchPlace, Lane, QueuePlace
from workflows.contracts.transcript import Epoch, Logged, Segment
from workflows.contracts.values import JsonObject, Record, State

CallPhase = Literal["queued", "asking", "approved", "running", "unknown", "done"]


class CallState(State):
    """One call of the open turn, on its way from plan to result. Mutable: part of the job's state."""

    call: CallPart
    plan: CallPlan
    phase: CallPhase = "queued"
    arguments: JsonObject = {}
    digest: str = ""
    edited: bool = False
    approved: bool = False
    preview: str | None = None
    asked_at: datetime | None = None
    problem: str | None = None
    result: Result | None = None
    told: bool = False
    result_print: str = ""
    votes: list[Vote] = []
    reminded: int = 0
    escalated_at: datetime | None = None
    renewed: int = 0


class RoundPrint(Record):
    """The fingerprint of one round's calls and of their results; `polls` if all of them may repeat on purpose."""

    calls: str
    results: str
    polls: bool = False


class ChildJob(Record):
    """A job that works, or worked, for a call of this one; without a `status` it is under way."""

    job: str
    agent: str
    call: str
    status: Status | None = None


class JobState(State):
    """All that a job is, beside its transcript: carried into the next run by continue-as-new and by a reply.

    `compacting`: whether what was said has to be summed up before the next model call; `done`: it was just now, or
    could not be. `late` are the last turns whose answers were not waited for any longer: they are charged if they come.
    """

    agent: str
    spec: AgentSpec | None = None
    model: str | None = None
    limits: Limits = Limits()
    total: Limits | None = None
    earlier: list[Segment] = []
    tail: list[Logged] = []
    entries: int = 0
    turns: int = 0
    message: Spent = Field(default_factory=Spent)
    overall: Spent = Field(default_factory=Spent)
    calls: list[CallState] = []
    turn_text: str = ""
    decided: dict[str, Decided] = {}
    early: dict[str, Decision] = {}
    denied: list[str] = []
    steers: list[Steer] = []
    steers_seen: list[str] = []
    steered_by: list[str] = []
    prints: list[RoundPrint] = []
    findings: list[Finding] = []
    not_done: list[NotDone] = []
    odd_turns: int = 0
    bad_outputs: int = 0
    asked_to_cite: bool = False
    closing: Status | None = None
    closing_why: str | None = None
    paused: bool = False
    stop_by: str | None = None
    by: str | None = None
    grants: list[Grant] = []
    stand_ins: list[str] = []
    tenant: str | None = None
    tags: list[str] = []
    parent: str | None = None
    root: str | None = None
    lent: Limits | None = None
    children: list[ChildJob] = []
    epoch: Epoch | None = None
    compacting: Literal["no", "due", "done"] = "no"
    batch: BatchPlace | None = None
    has_waited: bool = False
    lane: Lane = "sync"
    lane_until: datetime | None = None
    batched: Batched | None = None
    batched_seconds: float = 0.0
    late: list[int] = []
    charged: bool = False
    queue: QueuePlace | None = None
