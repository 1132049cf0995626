"""What a job knows of its agent; the rest stays on the worker.

It is loaded when a job begins and when a person replies, and holds until then, whatever was deployed in the meantime.
"""

from typing import Literal

from workflows.contracts.limits import Limits
from workflows.contracts.notices import NoticeEvent
from workflows.contracts.values import Record


class LoadAgent(Record):
    agent: str


class AgentSpec(Record):
    """What the workflow needs to know of an agent; the rest stays on the worker.

    `notices` are the names of the webhooks that are told of an event, for those that any of them is told of. `rate` is
    the rate that its model calls wait for.
    """

    name: str
    limits: Limits
    total: Limits | None = None
    closing: Literal["answer", "findings"] = "answer"
    output_retries: int = 2
    model_seconds: float = 900.0
    model_attempts: int = 6
    retry_seconds: float = 1.0
    heartbeat_seconds: float = 8.0
    history_events: int = 4000
    adopt_seconds: float = 43_200.0
    notices: dict[NoticeEvent, list[str]] = {}
    rate: str | None = None
