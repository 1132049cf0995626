"""What webhooks are told of a job, and what became of telling them."""

from datetime import datetime
from typing import Literal

from workflows.contracts.decisions import Risk
from workflows.contracts.outcome import Status
from workflows.contracts.values import Record

NoticeEvent = Literal["decision_needed", "reminder", "escalated", "expired", "unknown_outcome", "job_ended"]


class Notice(Record):
    """What webhooks are told of a job at one moment. No arguments: a delivery that may show them asks the job.

    `id` is the same for all attempts to deliver it. `webhooks` are names that the worker's app knows. `status`,
    `summary` and `answer` come with the job's end. `test`: nothing happened, somebody tries a webhook.
    """

    id: str
    event: NoticeEvent
    at: datetime
    job: str
    agent: str
    webhooks: list[str] = []
    tenant: str | None = None
    call: str | None = None
    tool: str | None = None
    digest: str | None = None
    asked_at: datetime | None = None
    expires_at: datetime | None = None
    approvers: list[str] = []
    self_approval: bool = True
    risk: Risk = "normal"
    status: Status | None = None
    summary: str | None = None
    answer: str | None = None
    test: bool = False


class Notices(Record):
    """The input of a `NoticeDelivery`: what came up in a job at one moment."""

    notices: list[Notice]


class DeliverNotice(Record):
    """One notice for one webhook."""

    notice: Notice
    webhook: str


class NoticeEnd(Record):
    """What became of a notice. `stale`: it was decided before anybody was told. `gone`: the endpoint wants no more."""

    status: Literal["delivered", "stale", "gone"]
