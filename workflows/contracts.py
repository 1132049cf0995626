"""Everything that enters event history, and nothing else.

Whoever changes a model here changes what running jobs replay: fields may be added with a default,
never renamed or removed, and a default never changes its value, since fields that were not set are
left out of history (`activities/payloads.py`). No `extra="forbid"` for the same reason.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JsonObject = dict[str, JsonValue]

Status = Literal[
    "complete",
    "hit_iteration_cap",
    "hit_tool_call_cap",
    "hit_token_cap",
    "hit_cost_cap",
    "hit_wall_clock",
    "no_progress",
    "tool_failure",
    "model_failure",
    "invalid_output",
    "cancelled",
    "failed",
]
"""How a job ended. `failed`: the job itself could not run (unknown agent, a fault in workflow code)."""

JobPhase = Literal["running", "waiting", "paused", "ended", "batched", "queued"]
"""`batched`: it waits for a provider batch."""

Lane = Literal["sync", "flex", "batch", "auto"]
"""How a job's models are asked: at once; at once at OpenAI's cheaper tier; many together in a provider batch, within a
day; or in the cheapest of these ways that there is."""

Choice = Literal["approve", "answer", "deny"]
Settlement = Literal["happened", "not_happened", "give_up"]
Risk = Literal["low", "normal", "high"]
"""What a tool's author says is at stake in its calls, for people to sort by."""

ResultStatus = Literal[
    "ok",  # the tool returned, or a person said with what it returned
    "error",  # the tool failed, or the call could not be made
    "denied",  # refused by a person or by policy
    "answered",  # a person answered in the tool's place
    "not_executed",  # a limit, a stop or a cut-off answer came first
    "expired",  # nobody decided in time
    "unknown",  # started, and nobody saw its end
]


class Record(BaseModel):
    """Base of all that is written to history: immutable values."""

    model_config = ConfigDict(frozen=True)

    def model_post_init(self, _context: Any) -> None:
        # Unset fields are not written; the tag of a union member must be.
        if "kind" in type(self).model_fields:
            self.model_fields_set.add("kind")


class State(BaseModel):
    """Base of what changes in place during a run, and is carried whole into the next one."""

    def model_post_init(self, _context: Any) -> None:
        # A list that is appended to would count as unset, and be left out.
        self.model_fields_set.update(type(self).model_fields)


# --- limits and usage ---------------------------------------------------------------------------


class Limits(Record):
    """What a job may spend on one message of a person.

    `rounds` model calls with tools, `tool_calls` executed calls, `tokens` input and output together,
    `seconds` of work (waiting for a person does not count), `cost_usd` at list prices. None means
    no limit.
    """

    rounds: int | None = Field(default=10, ge=0)
    tool_calls: int | None = Field(default=30, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)

    def changed(self, overrides: "Limits | None") -> "Limits":
        """These limits with every field that `overrides` was explicitly given."""
        if overrides is None:
            return self
        values = {name: getattr(self, name) for name in Limits.model_fields}
        values |= {name: getattr(overrides, name) for name in overrides.model_fields_set}
        return Limits(**values)


class Usage(Record):
    """What model calls consumed. Input tokens include those read from a cache (`cached_tokens`) and written to one.

    `unmeasured` counts requests whose price or tokens nobody told us: unknown models, failed attempts. `saved_usd` is
    what `cost_usd` would be more at list prices.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    failed_attempts: int = 0
    unmeasured: int = 0
    saved_usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{n: getattr(self, n) + getattr(other, n) for n in Usage.model_fields})


# --- the transcript -----------------------------------------------------------------------------


class TextPart(Record):
    kind: Literal["text"] = "text"
    text: str


class ReasoningPart(Record):
    """What the model showed of its thinking. Never sent back: the provider's own item is."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class RefusalPart(Record):
    kind: Literal["refusal"] = "refusal"
    text: str


class CallPart(Record):
    """A tool call. `id` is Surefoot's own, unique in the job; `provider_id` is what the provider sent, if anything.

    `arguments` is None when the provider's text was no JSON object; then `raw` holds that text.
    """

    kind: Literal["call"] = "call"
    id: str
    provider_id: str | None = None
    tool: str
    arguments: JsonObject | None = None
    raw: str | None = None


Part = Annotated[TextPart | ReasoningPart | RefusalPart | CallPart, Field(discriminator="kind")]


class Native(Record):
    """The provider's own items of a turn, verbatim: sent back unchanged to the same API, else dropped whole.

    `model` is the name that was asked for, where the API binds its items to one model.
    """

    api: str
    items: list[JsonValue]
    response_id: str | None = None
    model: str | None = None


StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "content_filter", "pause", "unknown"]


class Turn(Record):
    """What the model answered in one call, `at` when, after how many `seconds`, at which attempt.

    `tier`: at which cheaper one, if not at the usual one.
    """

    kind: Literal["turn"] = "turn"
    number: int = 0
    parts: list[Part] = []
    native: Native | None = None
    stop: StopReason = "end"
    stop_detail: str | None = None
    model: str = ""
    usage: Usage = Usage()
    at: datetime | None = None
    seconds: float | None = None
    attempts: int = 1
    tier: Literal["flex", "batch"] | None = None

    @property
    def calls(self) -> list[CallPart]:
        return [part for part in self.parts if isinstance(part, CallPart)]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class Message(Record):
    """A person's message: the input, a reply, or a steer."""

    kind: Literal["message"] = "message"
    text: str
    by: str | None = None


class Note(Record):
    """Surefoot's own word to the model, always after all results of a round."""

    kind: Literal["note"] = "note"
    text: str


class Artifact(Record):
    """Where the whole of an output lies that was cut for the model. `chars` is its full length."""

    location: str
    chars: int


class Result(Record):
    """The answer to one call, under Surefoot's id of that call; it ran for `seconds`, at which attempt."""

    kind: Literal["result"] = "result"
    call: str
    tool: str
    content: str
    status: ResultStatus = "ok"
    edited: bool = False
    artifact: Artifact | None = None
    seconds: float | None = None
    attempts: int = 1

    @property
    def is_error(self) -> bool:
        return self.status not in ("ok", "answered")


Entry = Annotated[Message | Turn | Result | Note, Field(discriminator="kind")]
"""What a model is told."""

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


class TranscriptPage(Record):
    """A slice of one run's own entries, from `start`; `total` is how many the run has."""

    start: int
    entries: list[Logged]
    total: int
    earlier: list[Segment] = []


# --- what activities are asked and answer --------------------------------------------------------


class LoadAgent(Record):
    agent: str


NoticeEvent = Literal["decision_needed", "reminder", "escalated", "expired", "unknown_outcome", "job_ended"]


class AgentSpec(Record):
    """What the workflow needs to know of an agent; the rest stays on the worker.

    `notices` are the names of the webhooks that are told of an event, for those that any of them is told of. `rate` is
    the rate that its model calls wait for.
    """

    name: str
    limits: Limits
    total: Limits | None = None
    closing: Literal["answer", "findings"] = "answer"
    output_retries: int = 2
    model_seconds: float = 900.0
    model_attempts: int = 6
    retry_seconds: float = 1.0
    heartbeat_seconds: float = 8.0
    history_events: int = 4000
    adopt_seconds: float = 43_200.0
    notices: dict[NoticeEvent, list[str]] = {}
    rate: str | None = None


class CallModel(Record):
    """One model call. The transcript is `earlier` segments, then this run's first `base` entries, then `new`.

    `new` is None when the entries were too large to be handed over; the worker then reads
    `base` to `length` by query. `tail` are the last entries of the last earlier segment, as far as no call was handed
    them while that run lasted. They are seen as `epoch` says. `compaction` is what may be done when they are too long:
    let old results go, or also answer that they have to be summed up. `flex` asks at the cheaper tier.
    """

    agent: str
    turn: int
    model: str | None = None
    earlier: list[Segment] = []
    base: int = 0
    new: list[Logged] | None = None
    length: int = 0
    closing: Status | None = None
    tail: list[Logged] = []
    epoch: Epoch | None = None
    compaction: Literal["trim", "summarize"] | None = None
    flex: bool = False


class ReadSegment(Record):
    """What an earlier run of this job (or of `job`) recorded, from entry `start` on."""

    run_id: str
    start: int = 0
    job: str | None = None


CallKind = Literal["read", "write", "pure", "invalid", "agent"]
"""`agent`: another agent does it, in a job of its own."""

Verdict = Literal["allow", "ask", "deny"]


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


class CallPlan(Record):
    """How one call of a turn is to be handled, by the worker's current code.

    `problem` is the model-facing text for a call that can't be made (kind `invalid`) or that policy denies, or tells a
    person why policy asks.
    `seconds` bounds one execution, `retries` is how often a failed one is tried again. `parameters` is the tool's JSON
    schema, for a form in which a person edits the arguments; left out of calls that ask nobody, and when it is large.
    """

    call: str
    kind: CallKind
    verdict: Verdict = "allow"
    problem: str | None = None
    digest: str = ""
    seconds: float = 60.0
    retries: int = 0
    repeatable: bool = False
    has_preview: bool = False
    asking: Asking = Asking()
    parameters: JsonObject = {}


class ModelReply(Record):
    """A turn, the plan for each of its calls, and the check of a final answer against the output schema.

    `citations` are the calls whose results an answer refers to, where the agent asks for that.
    `instead_of` are the models of the agent's list that were to be asked first, with what was wrong with each.
    `epoch` begins with this call, if old results were let go for it. `too_long` says that no model answered, since what
    was said has to be summed up first.
    """

    turn: Turn
    plans: list[CallPlan] = []
    output: JsonValue = None
    output_problem: str | None = None
    failed_attempts: int = 0
    instead_of: list[str] = []
    citations: list[str] = []
    citation_problem: str | None = None
    epoch: Epoch | None = None
    too_long: bool = False


class Summary(Record):
    """What a model made of all that was said before entry `until`, or the `problem` for which there is no summary.

    `before` and `after` are about how many tokens a call takes without it and with it.
    """

    text: str = ""
    problem: str | None = None
    until: int
    before: int = 0
    after: int = 0
    model: str = ""
    usage: Usage = Usage()
    failed_attempts: int = 0
    instead_of: list[str] = []


class Vote(Record):
    """One person's approval of a call, with the roles that the person had."""

    by: str
    roles: list[str] = []
    at: datetime


class RunTool(Record):
    """One execution of one call. `approved` says that people approved exactly these arguments: `votes` by whom."""

    agent: str
    call: str
    tool: str
    arguments: JsonObject
    approved: bool = False
    votes: list[Vote] = []


class Errand(Record):
    """What a call is that another agent does: a job of `agent` on `message`. The caller gets so much of its answer."""

    agent: str
    message: str
    max_chars: int = 40_000


class ToolReply(Record):
    """How an execution ended.

    `unknown`: a mark shows that it began and nobody saw its end. `ask`: policy now wants a decision first, put to
    people as `asking` says; nothing ran. `denied`: policy now refuses; nothing ran. With an `errand` nothing ran yet:
    a child job does it.
    """

    status: Literal["ok", "error", "unknown", "ask", "denied"] = "ok"
    content: str = ""
    artifact: Artifact | None = None
    asking: Asking | None = None
    seconds: float | None = None
    attempts: int = 1
    errand: Errand | None = None


class DescribeCall(Record):
    agent: str
    call: str
    tool: str
    arguments: JsonObject


class CallDescription(Record):
    """The tool's own preview of a call, or why there is none."""

    preview: str | None = None


class CheckArguments(Record):
    """Are these edited arguments valid for the same tool, and may they run at all?"""

    agent: str
    tool: str
    arguments: JsonObject


class ArgumentsCheck(Record):
    problem: str | None = None
    digest: str = ""


# --- the gate -----------------------------------------------------------------------------------


class GrantTerms(Record):
    """That a tool needs no further decisions in this job: for `count` calls, within `seconds`, with these arguments.

    `arguments` are those that must be equal; a call may have others besides.
    """

    count: int = Field(ge=1, le=1000)
    seconds: float = Field(gt=0)
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


# --- notices ------------------------------------------------------------------------------------


class Notice(Record):
    """What webhooks are told of a job at one moment. No arguments: a delivery that may show them asks the job.

    `id` is the same for all attempts to deliver it. `webhooks` are names that the worker's app knows. `status`,
    `summary` and `answer` come with the job's end. `test`: nothing happened, somebody tries a webhook.
    """

    id: str
    event: NoticeEvent
    at: datetime
    job: str
    agent: str
    webhooks: list[str] = []
    tenant: str | None = None
    call: str | None = None
    tool: str | None = None
    digest: str | None = None
    asked_at: datetime | None = None
    expires_at: datetime | None = None
    approvers: list[str] = []
    self_approval: bool = True
    risk: Risk = "normal"
    status: Status | None = None
    summary: str | None = None
    answer: str | None = None
    test: bool = False


class Notices(Record):
    """The input of a `NoticeDelivery`: what came up in a job at one moment."""

    notices: list[Notice]


class DeliverNotice(Record):
    """One notice for one webhook."""

    notice: Notice
    webhook: str


class NoticeEnd(Record):
    """What became of a notice. `stale`: it was decided before anybody was told. `gone`: the endpoint wants no more."""

    status: Literal["delivered", "stale", "gone"]


# --- the job ------------------------------------------------------------------------------------


class BatchPlace(Record):
    """Which line of which batch a job is for."""

    batch: str
    line: int
    custom_id: str


class QueuePlace(State):
    """Where a job stands in the named queue that it was started in; `refusal` is why it can't begin."""

    name: str
    begun: bool = False
    refusal: str | None = None


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


class Finding(Record):
    """What a call brought. `unknown`: it was started, and nobody saw its end."""

    call: str
    tool: str
    content: str
    is_error: bool = False
    unknown: bool = False


class NotDone(Record):
    call: str
    tool: str
    arguments: JsonObject | None = None
    why: str


class Outcome(Record):
    """The structured end of a job. A limit yields an outcome, never an exception.

    `citations` are the calls whose results the answer refers to, `citation_problem` says what was still wrong with them
    when the model had been asked again. `stand_ins` says which models answered in place of which others, and why.
    `batched_seconds` is how long it waited for provider batches.
    """

    status: Status
    answer: str | None = None
    output: JsonValue = None
    findings: list[Finding] = []
    requires_human: bool = False
    summary: str = ""
    not_done: list[NotDone] = []
    citations: list[str] = []
    usage: Usage = Usage()
    error: str | None = None
    stand_ins: list[str] = []
    citation_problem: str | None = None
    batched_seconds: float = 0.0


class Spent(State):
    """What was used of an allowance so far."""

    rounds: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()


class ChildJob(Record):
    """A job that works, or worked, for a call of this one; without a `status` it is under way."""

    job: str
    agent: str
    call: str
    status: Status | None = None


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


class Grant(State):
    """A grant as it stands: how many calls it still lets through, and until when."""

    id: str
    tool: str
    by: str
    until: datetime
    left: int
    arguments: JsonObject = {}


class RoundPrint(Record):
    """The fingerprint of one round's calls and of their results; `polls` if all of them may repeat on purpose."""

    calls: str
    results: str
    polls: bool = False


class Batched(Record):
    """The model call of `turn` was handed in for a provider batch, which is waited for `until` then."""

    turn: int
    since: datetime
    until: datetime


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


class JobEnd(Record):
    """The result of an `AgentJob` run: its outcome, and what a reply goes on from."""

    outcome: Outcome
    carry: JobState


JobStart.model_rebuild()
