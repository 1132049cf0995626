"""What a model API is to Surefoot: one method that takes a request and returns a whole turn, streamed or not.

An adapter never retries (Temporal does), never runs a tool, and raises only the errors of `errors.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from activities.models.speech import Kind
from workflows.contracts import Entry, JsonObject, Turn


@dataclass(frozen=True)
class ToolDeclaration:
    """A tool as the model sees it. `schema` is the JSON schema of its arguments, an object schema."""

    name: str
    description: str
    schema: JsonObject


class Live(Protocol):
    """Where an adapter shows an answer while it comes in: for people who watch, never for the job.

    Saying costs nothing and never fails. What was shown is void when the call fails; the next attempt shows anew.
    """

    def say(self, kind: Kind, text: str) -> None:
        """The next piece of the answer's text or thinking; for `call` the name of a tool that it begins to call."""
        ...


class Kept(Protocol):
    """What one attempt of a model call leaves to the next one, such as the id of an answer that is being made."""

    @property
    def value(self) -> str | None:
        """What an earlier attempt of the same call kept, if any did."""
        ...

    async def keep(self, value: str | None) -> None:
        """Keep it instead of what was kept before, None for nothing; durable once this returns."""
        ...

    async def wanted(self) -> bool:
        """Asked when this attempt is cut short: may another one come for what was kept?"""
        ...


@dataclass(frozen=True)
class ModelRequest:
    """One model call, in no provider's words.

    `model` is the provider's own name of the model. `tool_choice` "none" forbids tools that stay declared
    (the closing call). `settings` go into the request body as they are (temperature, reasoning, store, …).
    `turn` numbers this call in the job, from 1; ids of the turn's calls derive from it.
    A `purpose` of "summary": what the model is to write takes the place of the transcript later. `turns_before` counts
    turns that such a summary stands for already. Without `chains` the last turn saw another transcript than this one is
    a continuation of, so an API's own copy of it may not be built on.
    With `live` the answer is streamed, if the API can; a stream that is silent for `idle_seconds` has timed out.
    """

    model: str
    instructions: str
    transcript: Sequence[Entry]
    tools: Sequence[ToolDeclaration] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_output_tokens: int | None = None
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    turn: int = 1
    purpose: Literal["turn", "summary"] = "turn"
    turns_before: int = 0
    chains: bool = True
    live: Live | None = field(default=None, compare=False, repr=False)
    kept: Kept | None = field(default=None, compare=False, repr=False)
    idle_seconds: float = 300.0

    @property
    def streamed_to(self) -> Live | None:
        """Where a streamed answer is shown, if it is to be streamed; the setting `stream=False` forbids it too."""
        return None if self.settings.get("stream") is False else self.live


class Provider(Protocol):
    """One model API. `api` is the adapter's name; it tags a turn's native items."""

    api: str

    async def complete(self, request: ModelRequest) -> Turn:
        """Ask the model once and return its whole answer; raise a `ModelError` otherwise."""
        ...

    async def close(self) -> None:
        """Release the SDK client's connections."""
        ...


class KeyedProvider(Provider, Protocol):
    """A provider that is built by its SDK's own variables."""

    @property
    def has_key(self) -> bool:
        """Whether the SDK found a key; without one every call raises `Unauthenticated`."""
        ...


def call_id(turn: int, index: int) -> str:
    """Surefoot's id of the call at position `index` (from 0) of turn number `turn`: legal at every provider."""
    return f"c{turn}-{index + 1}"
