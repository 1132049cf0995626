"""The script of a model that only pretends: the format of its replies, and which one a request is due.

The reply is derived from the request alone (the number of turns in its transcript), so that a retried
call, or one made by another process, gets the same answer. Keep it so.

A script file is JSON: a list of replies, or `{"replies": [...], "closing": {...}, "summary": {...}}`. A reply is

    {"text": "Both are in stock."}                                     an answer
    {"text": "Let me look.", "calls": [{"tool": "find", "arguments": {"name": "pump"}}]}
    {"calls": [{"tool": "find", "raw": "{\\"name\\": ", "id": "toolu_1"}]}  malformed arguments, a provider's id
    {"error": {"kind": "RateLimited", "message": "slow down", "delay": 2}}
    {"error": {"kind": "Overloaded", "message": "full", "times": 2}, "text": "Here you are."}
    {"error": {"kind": "Overloaded", "message": "cut", "times": 1, "after": 3}, "text": "Here you are.", "pieces": 5}

and may also have

    "reasoning"  what the model shows of its thinking
    "stop"       a stop reason (workflows/contracts/messages.py); without one: tool_calls, else end
    "usage"      {"input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "unmeasured"};
                 input and output that are not given are counted as a quarter of the characters
    "model"      the model that claims to have answered
    "seconds"    how long the answer takes, or if it is streamed, to its first word
    "stream_seconds"  over how long its reasoning and text are said, piece by piece; without it, at once
    "pieces"     in how many pieces (20 a second)
    "repeat"     true on the last reply: it answers every later call as well

`kind` is a class of `errors.py`; `after` so many pieces were said the call fails. `{result:1}` in a text stands for
the first result of the round before; all other braces stay as they are. A closing call (tools forbidden) takes
"closing", else a sentence made from what the tools returned; its turn counts as one when a later call looks for its
reply. A call that is to sum up for compaction takes "summary" in the same way, and counts for nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import from_json

from activities.providers import errors
from activities.providers.protocol import ModelRequest
from activities.tools.explain import shown
from workflows.contracts import Entry, JsonObject, StopReason

ERROR_KINDS: Final[Mapping[str, type[errors.ModelError]]] = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.ModelError) and value is not errors.ModelError
}


def turns_in(transcript: Sequence[Entry]) -> int:
    """How many turns there are in a transcript."""
    return sum(entry.kind == "turn" for entry in transcript)


def position(request: ModelRequest) -> int:
    """How many turns the model has had, also those that were summed up; the position of its next reply."""
    return request.turns_before + turns_in(request.transcript)


EXAMPLE = '{"text": "Hello."}'


class ScriptError(ValueError):
    """A script can't be used; the text names the place in it."""


class _Scripted(BaseModel):
    # A script is written by hand: a misspelt field must not pass unseen.
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(_Scripted):
    """A tool call. `raw` stands for arguments that are no JSON object."""

    tool: str
    arguments: JsonObject = {}
    raw: str | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _one_form_of_arguments(self) -> "ScriptedCall":
        if self.raw is not None and "arguments" in self.model_fields_set:
            raise ValueError("has both arguments and raw; raw replaces the arguments, give one of them")
        return self


class ScriptedError(_Scripted):
    """The failure of a call: of its first `times` attempts in this process, else of every one."""

    kind: str
    message: str
    delay: float | None = None
    times: int | None = Field(default=None, ge=1)
    after: int = Field(default=0, ge=0)

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        if kind not in ERROR_KINDS:
            raise ValueError(f"{kind!r} is no class of errors.py; use one of {', '.join(ERROR_KINDS)}")
        return kind


class ScriptedUsage(_Scripted):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unmeasured: int = 0


class Reply(_Scripted):
    """What the model does in one call; the fields are described at the top of this module."""

    text: str | None = None
    calls: list[ScriptedCall] = []
    reasoning: str | None = None
    stop: StopReason | None = None
    usage: ScriptedUsage = ScriptedUsage()
    model: str | None = None
    seconds: float = Field(default=0.0, ge=0)
    stream_seconds: float = Field(default=0.0, ge=0)
    pieces: int | None = Field(default=None, ge=1, le=100_000)
    error: ScriptedError | None = None
    repeat: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> "Reply":
        answers = self.model_fields_set & {"text", "calls", "reasoning", "stop"}
        if self.error is None and not answers:
            raise ValueError(
                'says nothing; give it text, calls, a stop reason or an error ({"text": ""} is an empty turn)'
            )
        if self.error is not None and answers and self.error.times is None and not self.error.after:
            raise ValueError(
                f"always fails, so its {', '.join(sorted(answers))} would never be seen; give the error times"
            )
        if self.error is not None and not answers and self.error.times is not None:
            raise ValueError(
                f"has no answer for the attempt after {self.error.times} failures; give it a text or calls"
            )
        return self


Replies = Sequence[Reply | Mapping[str, Any]] | Callable[[ModelRequest], Reply | Mapping[str, Any]]


class Script:
    """A list of replies, or a function that makes one from the request. Raises `ScriptError`."""

    def __init__(
        self,
        replies: Replies,
        *,
        closing: Reply | Mapping[str, Any] | None = None,
        summary: Reply | Mapping[str, Any] | None = None,
        source: str = "script",
    ) -> None:
        self.source = source
        self._function = replies if callable(replies) else None
        self._replies = [] if callable(replies) else self._listed(replies)
        self._closing = None if closing is None else self._reply(closing, "closing")
        self._summary = None if summary is None else self._reply(summary, "summary")
        for number, reply in enumerate(self._replies[:-1], 1):
            if reply.repeat:
                raise ScriptError(
                    f"{source}: reply {number} repeats for ever, so the replies behind it are never reached; "
                    "only the last one can say repeat"
                )

    @classmethod
    def load(cls, path: str | Path) -> "Script":
        """Read a script file."""
        path = Path(path)
        try:
            content = from_json(path.read_bytes())
        except OSError as error:
            raise ScriptError(f"{path}: can't be read ({error.strerror}); check the script's path") from error
        except ValueError as error:
            raise ScriptError(f"{path}: is no JSON ({error}); a script is a JSON list of replies") from error
        if isinstance(content, list):
            content = {"replies": content}
        if not isinstance(content, dict) or not isinstance(content.get("replies"), list):
            raise ScriptError(
                f'{path}: has no list of replies; write [...] or {{"replies": [...], "closing": {{...}}}}'
            )
        if unknown := sorted(content.keys() - {"replies", "closing", "summary"}):
            raise ScriptError(
                f"{path}: has {', '.join(unknown)} beside its replies; only closing and summary may stand there"
            )
        return cls(content["replies"], closing=content.get("closing"), summary=content.get("summary"), source=str(path))

    def reply_to(self, request: ModelRequest) -> Reply | None:
        """The reply that this request is due; None for a closing call or a summary that the script leaves open.

        Raises `Rejected` when the script has no more replies.
        """
        if self._function is not None:
            return self._reply(self._function(request), f"reply {request.turn}")
        index = position(request)
        if request.purpose == "summary":
            return self._summary
        if request.tool_choice == "none":
            return self._closing
        if index < len(self._replies):
            return self._replies[index]
        if self._replies and self._replies[-1].repeat:
            return self._replies[-1]
        raise errors.Rejected(
            f"{self.source} has {len(self._replies)} replies and this is call {index + 1}; "
            'add a reply, or put "repeat": true on the last one'
        )

    def _listed(self, replies: object) -> list[Reply]:
        if isinstance(replies, str | bytes) or not isinstance(replies, Sequence):
            raise ScriptError(
                f"{self.source}: {_seen(replies)} is no list of replies; write a list of them, or a function from the"
                f" request to one, as in Script([{EXAMPLE}], closing={EXAMPLE})"
            )
        return [self._reply(reply, f"reply {number}") for number, reply in enumerate(replies, 1)]

    def _reply(self, reply: object, place: str) -> Reply:
        if isinstance(reply, Reply):
            return reply
        if not isinstance(reply, Mapping):
            raise ScriptError(
                f"{self.source}: {place} is {_seen(reply)}, and a reply is an object with text, calls or an error, as"
                f" in {EXAMPLE}"
            )
        try:
            return Reply.model_validate(reply)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(step) for step in first["loc"])
            at = f"{self.source}: {place}" + (f", field {field}" if field else "")
            raise ScriptError(f"{at}: {first['msg'].removeprefix('Value error, ')}") from error


def _seen(value: object) -> str:
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}(…)"
    return f"{shown(value)} ({type(value).__name__})"
