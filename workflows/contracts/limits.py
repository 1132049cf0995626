"""What a job may spend, and what was spent."""

from pydantic import Field

from workflows.contracts.values import Record, State


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


class Spent(State):
    """What was used of an allowance so far."""

    rounds: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
