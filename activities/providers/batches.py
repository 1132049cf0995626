"""What a provider's batch API is to Surefoot: many requests handed over at once, answered within a day, at half price.

Nothing here retries or waits. `create` is the one step that costs money: whoever calls it records first that it is
about to, and asks `find` before it ever calls it again for the same intent.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from activities.providers.errors import ModelError
from activities.providers.protocol import ModelRequest, Provider
from workflows.contracts import JsonObject, Turn

Fate = Literal["answered", "failed", "expired", "cancelled"]


@dataclass(frozen=True)
class BatchRequest:
    """One model call as a batch API takes it: the same body that it has when it is sent alone.

    All requests of one batch share `endpoint` and `betas`.
    """

    endpoint: str
    body: JsonObject
    betas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Intent:
    """One batch that is to be, by an `id` of ours that no other batch has.

    `requests` is how many it holds, `since` when it was first about to be created. Their places are below `places`,
    where some may be empty.
    """

    id: str
    endpoint: str
    betas: tuple[str, ...]
    requests: int
    since: datetime
    places: int = 0

    def custom_id(self, place: int) -> str:
        """The name of the request at a place, from 0: legal at every provider, and of no other intent."""
        return f"{print_of(self.id)}-{place}"

    def place_of(self, custom_id: object) -> int | None:
        """The place that a name stands for; None if it is none of this intent."""
        own, _, place = str(custom_id).rpartition("-")
        known = own == print_of(self.id) and place.isdecimal() and int(place) < max(self.places, self.requests)
        return int(place) if known else None


@dataclass(frozen=True)
class Line:
    """What became of one request. `answered` comes with the `answer`, `failed` with the `error`."""

    custom_id: str
    fate: Fate
    answer: JsonObject | None = None
    error: ModelError | None = None


@dataclass(frozen=True)
class BatchLook:
    """How a batch stands. `ended`: there is nothing more to wait for; `error` says why it came to nothing as a whole.

    `refused` are the places, from 0, of the requests that are to blame for that, as far as the provider says so.
    """

    status: str
    ended: bool
    files: tuple[str, ...] = ()
    error: ModelError | None = None
    refused: tuple[int, ...] = ()


class Batches(Protocol):
    """One provider's batch API. All methods raise only `ModelError`."""

    def line(self, custom_id: str, request: BatchRequest) -> JsonObject:
        """How a request is written into the batch."""
        ...

    async def upload(self, lines: Sequence[bytes]) -> str:
        """Put the requests where `create` finds them; the id of that, empty if `create` takes them itself. Free."""
        ...

    async def create(self, intent: Intent, lines: Sequence[bytes], uploaded: str) -> str:
        """Begin the batch; its id.

        Raises an error with a status from 400 to 499 (but 408 and 409) if there is no batch for sure. After any other
        error there may be one.
        """
        ...

    async def find(self, intent: Intent, foreign: Sequence[str] = ()) -> str | None:
        """The id of the batch that was created for an intent, if the provider has one; none of `foreign`."""
        ...

    async def look(self, batch: str) -> BatchLook:
        """How a batch stands."""
        ...

    def lines(self, batch: str, look: BatchLook) -> AsyncIterator[Line]:
        """What became of the requests of a batch that has ended, in the provider's order, as it says so: a request may
        be missing, or be there twice."""
        ...


class BatchProvider(Provider, Protocol):
    """A provider that has a batch API as well."""

    @property
    def batches(self) -> Batches: ...

    @property
    def credential(self) -> str:
        """A print of key and address, which tells accounts apart and gives nothing of the key away."""
        ...

    @property
    def host(self) -> str:
        """The host that requests go to."""
        ...

    def batch_request(self, request: ModelRequest) -> BatchRequest:
        """The request as `complete` would send it without a stream. Raises `ModelError` for what can't be sent so."""
        ...

    def turn_of(self, answer: JsonObject, request: ModelRequest) -> Turn:
        """The turn of an answer, as `complete` would read it. Raises `ModelError`."""
        ...


def never_began(error: ModelError) -> bool:
    """Whether a `create` that failed so has certainly begun nothing."""
    status = error.status or 0
    return 400 <= status < 500 and status not in (408, 409)


def print_of(text: str) -> str:
    """Sixteen characters that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
