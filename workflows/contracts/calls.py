"""The calls of a turn: how each is to be handled, and what the activities that carry it out are asked and answer.

A plan is made by the worker's code of the moment and then is in history, so a running call keeps it.
"""

from typing import Literal

from workflows.contracts.decisions import Asking, Vote
from workflows.contracts.messages import Artifact
from workflows.contracts.values import JsonObject, Record

CallKind = Literal["read", "write", "pure", "invalid", "agent"]
"""`agent`: another agent does it, in a job of its own."""

Verdict = Literal["allow", "ask", "deny"]


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
