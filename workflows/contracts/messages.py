"""What is said in a job: messages, turns with their calls, results, notes.

A turn keeps two forms of what the model said: parts that all providers have, and the provider's own items verbatim.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from workflows.contracts.limits import Usage
from workflows.contracts.values import JsonObject, Record


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


ResultStatus = Literal[
    "ok",  # the tool returned, or a person said with what it returned
    "error",  # the tool failed, or the call could not be made
    "denied",  # refused by a person or by policy
    "answered",  # a person answered in the tool's place
    "not_executed",  # a limit, a stop or a cut-off answer came first
    "expired",  # nobody decided in time
    "unknown",  # started, and nobody saw its end
]


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
