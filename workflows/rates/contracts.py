"""What enters the history of rates, by the rules of `workflows/contracts/`: fields are only added, with defaults."""

from datetime import datetime

from workflows.contracts import Record, State

MODEL_RATE = "ModelRate"


def rated_queue(task_queue: str, rate: str) -> str:
    """The queue on which the model calls of this rate wait; its tasks are handed out at the rate."""
    return f"{task_queue}/model/{rate}"


class RateTerms(Record):
    """What a provider allows one credential in a minute; None: as much as you like."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class RateReport(Record):
    """What one worker saw since its last report: calls that were answered, their tokens, and how many were refused.

    `delay` is the longest wait that the provider asked for, in seconds.
    """

    terms: RateTerms
    requests: int = 0
    tokens: int = 0
    limited: int = 0
    delay: float | None = None


class RateState(State):
    """How fast the calls of one queue may begin.

    `factor` is 1, and less after the provider refused a call, until `recover_at` and step by step from then on.
    `set_to` is what the server was told last, in calls a second; None: what the workers say.
    """

    queue: str
    terms: RateTerms = RateTerms()
    factor: float = 1.0
    tokens_per_request: float | None = None
    slowed_at: datetime | None = None
    recover_at: datetime | None = None
    set_to: float | None = None


class SetRate(Record):
    """The order to hand out so many tasks of a queue a second; None takes earlier orders back."""

    queue: str
    per_second: float | None = None
    reason: str = ""
