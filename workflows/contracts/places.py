"""Where a job stands beside others: its lane, its line of a batch, a queue, a provider batch."""

from datetime import datetime
from typing import Literal

from workflows.contracts.values import Record, State

Lane = Literal["sync", "flex", "batch", "auto"]
"""How a job's models are asked: at once; at once at OpenAI's cheaper tier; many together in a provider batch, within a
day; or in the cheapest of these ways that there is."""


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


class Batched(Record):
    """The model call of `turn` was handed in for a provider batch, which is waited for `until` then.

    `outside`: the lane is full, and the call is still to be handed in; its job keeps its place meanwhile.
    """

    turn: int
    since: datetime
    until: datetime
    outside: bool = False
