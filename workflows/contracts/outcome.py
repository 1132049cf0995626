"""How a job ended: a limit yields an outcome, never an exception."""

from typing import Literal

from pydantic import JsonValue

from workflows.contracts.limits import Usage
from workflows.contracts.values import JsonObject, Record

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
