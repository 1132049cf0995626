"""What callers may send. A field that is not known is refused, above all `by`: who somebody is, a token says."""

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from surefoot.priorities import HEAVIEST, LIGHTEST
from workflows.contracts import GrantTerms, JsonObject, Limits, Settlement

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
MOST = 1_000_000_000
"""Beyond any use, and within what numbers and times can be computed with."""

YEAR = 366 * 86_400
"""In seconds; no time that is given is longer."""

UNKNOWN_FIELDS = 20
"""So many are told one by one."""

Text = Annotated[str, Field(min_length=1)]
REASON_CHARS = 1000
Reason = Annotated[
    str | None, Field(min_length=1, max_length=REASON_CHARS, description="Shown to whoever looks at it.")
]
"""Why something is held."""

Priority = Annotated[int | None, Field(ge=1, le=5, description="1 goes before all others, 5 behind; 3 is usual.")]
Weight = Annotated[
    float | None, Field(ge=LIGHTEST, le=HEAVIEST, description="The tenant's share beside other tenants; 1 is usual.")
]


def _is_json(value: JsonObject) -> JsonObject:
    """Python reads NaN and Infinity from JSON, which has neither."""
    json.dumps(value, allow_nan=False).encode()
    return value


Arguments = Annotated[JsonObject, AfterValidator(_is_json)]


class Sent(BaseModel):
    """Base of all that is sent."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, sent: Any) -> Any:
        """Each unknown field is a fault of its own, and a body has room for so many that listing them takes seconds."""
        if isinstance(sent, dict) and len(sent) > len(cls.model_fields) + UNKNOWN_FIELDS:
            raise ValueError(f"it has {len(sent)} fields; those that are known: {', '.join(cls.model_fields)}")
        return sent


class Allowance(Sent):
    """Limits; those that are not named stay as the agent has them, and null takes one away."""

    rounds: int | None = Field(default=None, ge=0, le=MOST)
    tool_calls: int | None = Field(default=None, ge=0, le=MOST)
    tokens: int | None = Field(default=None, ge=0, le=MOST)
    seconds: float | None = Field(default=None, ge=0, le=MOST)
    cost_usd: float | None = Field(default=None, ge=0, le=MOST)


def limits_of(allowance: Allowance | None) -> Limits | None:
    return None if allowance is None else Limits(**allowance.model_dump(exclude_unset=True))


class StartJob(Sent):
    """A job to start."""

    agent: Name
    message: Text
    id: Id | None = Field(default=None, description="Instead of an Idempotency-Key: the same id is the same job.")
    limits: Allowance | None = None
    total: Allowance | None = Field(default=None, description="Limits that replies don't renew.")
    model: Name | None = None
    tenant: Name | None = None
    tags: list[Name] = Field(default=[], max_length=20)
    delay_seconds: float | None = Field(default=None, ge=0, le=YEAR)
    priority: Priority = None
    weight: Weight = None
    queue: Name | None = Field(default=None, description="Begin when this queue of the app has a place for it.")


class Reply(Sent):
    """A message to a job that has ended."""

    message: Text
    limits: Allowance | None = None
    model: Name | None = None


class Steering(Sent):
    """A message to a job that runs."""

    message: Text


class ForkJob(Sent):
    """A new job that goes on from the end of a round of this one."""

    round: int = Field(ge=1, le=1_000_000)
    message: Text | None = None
    id: Id | None = None
    limits: Allowance | None = None
    model: Name | None = None


class Grant(Sent):
    """Lets calls of the same tool in the same job through that are still to come."""

    count: int = Field(ge=1, le=1000)
    seconds: float = Field(gt=0, le=YEAR)
    arguments: Arguments = Field(default={}, description="Only calls with these arguments, perhaps among others.")


def terms_of(grant: Grant | None) -> GrantTerms | None:
    return None if grant is None else GrantTerms(**grant.model_dump())


class _OnDigest(Sent):
    digest: str = Field(min_length=1, max_length=200, description="That of the arguments that were shown.")


class Approve(_OnDigest):
    """Run the call as it is."""

    choice: Literal["approve"]
    grant: Grant | None = None


class Edit(_OnDigest):
    """Run the call with other arguments."""

    choice: Literal["edit"]
    arguments: Arguments
    grant: Grant | None = None


class Answer(_OnDigest):
    """Answer in the tool's place: it does not run."""

    choice: Literal["answer"]
    text: str


class Deny(_OnDigest):
    """Refuse the call."""

    choice: Literal["deny"]
    reason: str | None = Field(default=None, description="Told to the model.")


Word = Annotated[Approve | Edit | Answer | Deny, Field(discriminator="choice")]


class OneOfMany(Sent):
    """A decision on one call."""

    job: Id
    call: Id
    decision: Word


class ManyDecisions(Sent):
    """Decisions that are taken each for itself."""

    decisions: list[OneOfMany] = Field(min_length=1, max_length=100)


class Settle(Sent):
    """How a call ended whose end nobody saw."""

    choice: Settlement
    result: str | None = Field(default=None, description="With `happened`: what the tool would have returned.")

    def model_post_init(self, _context: Any) -> None:
        if self.result is not None and self.choice != "happened":
            raise ValueError(f"a result belongs to 'happened', not to {self.choice!r}")


class SignIn(Sent):
    """A token, for a session of a browser."""

    token: str = Field(min_length=1, max_length=20_000, repr=False)
