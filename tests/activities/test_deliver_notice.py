"""Attempts to deliver a notice, on the wire: what is sent, what an answer means, and when the next attempt comes."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import standardwebhooks
from temporalio.client import WorkflowExecutionStatus, WorkflowQueryRejectedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities.agents import Agent
from activities.apps import App
from activities.notices import posts as webhook_posts
from activities.notices.deliver import LONGEST_DELAY, LOOK, LOOKS, Notifier
from activities.notices.webhooks import Webhook
from activities.providers.scripted import Script
from tests.webhook_receiver import Receiver, answer, receiver
from workflows import policies
from workflows.contracts import DeliverNotice, Notice, NoticeEnd, Pending

ONE, TWO = "whsec_" + "c2VjcmV0" * 4, "whsec_" + "b3RoZXIx" * 4
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
CALL = Pending(
    call="c1-1", kind="decision", agent="desk", tool="refund", arguments={"amount": 5}, digest="d", asked_at=NOW,
    allowed=["approve", "deny"],
)  # fmt: skip


class Job:
    """A client with one job, which says what waits in it."""

    def __init__(self, says: Pending | Exception | None = CALL) -> None:
        self.says = says
        self.asked = 0

    def get_workflow_handle(self, job: str) -> "Job":
        assert job == "desk-1"
        return self

    async def query(self, name: str, call: str, **options: Any) -> Pending | None:
        assert (name, call) == ("pending_call", "c1-1")
        self.asked += 1
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


def notice(event: Any = "job_ended", **changes: Any) -> Notice:
    about = {} if event == "job_ended" else {"call": "c1-1", "tool": "refund", "digest": "d", "asked_at": NOW}
    return Notice(**{"id": "msg_1", "event": event, "at": NOW, "job": "desk-1", "agent": "desk", **about, **changes})


async def deliver(
    webhook: Webhook,
    told: Notice | None = None,
    *,
    job: Job | None = None,
    attempt: int = 1,
    name: str | None = None,
    **environment: str,
) -> NoticeEnd:
    told = told or notice()
    notifier = Notifier(
        App([Agent("desk", Script([{"text": "x"}]), notify=[webhook])]),
        2.0,
        {"SUREFOOT_WEBHOOK_SECRET": ONE, **environment},
    )
    temporal: Any = job or Job()
    runs = ActivityEnvironment(client=temporal)
    runs.info = dataclasses.replace(runs.info, attempt=attempt)
    try:
        return await runs.run(notifier.deliver_notice, DeliverNotice(notice=told, webhook=name or webhook.name))
    finally:
        await notifier.close()


async def refused(webhook: Webhook, *arguments: Any, **options: Any) -> ApplicationError:
    with pytest.raises(ApplicationError) as failed:
        await deliver(webhook, *arguments, **options)
    assert failed.value.type == "NotDelivered"
    return failed.value


def seconds(error: ApplicationError) -> float:
    assert error.next_retry_delay is not None
    return error.next_retry_delay.total_seconds()


@pytest.fixture
async def endpoint() -> AsyncIterator[Receiver]:
    async with receiver() as up:
        yield up


def answers(endpoint: Receiver, *whole: bytes) -> None:
    async def answering(number: int) -> bytes:
        return whole[min(number, len(whole)) - 1]

    endpoint.answering = answering


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_an_answer_that_says_yes_is_the_end(endpoint: Receiver, status: int) -> None:
    answers(endpoint, answer(status))

    assert await deliver(Webhook(endpoint.url)) == NoticeEnd(status="delivered")
    assert len(endpoint.received) == 1


async def test_what_is_sent_is_signed_and_json(endpoint: Receiver) -> None:
    await deliver(Webhook(endpoint.url, name="all"))
    (got,) = endpoint.received

    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == "msg_1_all"
    assert got.headers["accept-encoding"] == "identity"
    assert standardwebhooks.Webhook(ONE).verify(got.body, got.headers) == json.loads(got.body)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(TWO).verify(got.body, got.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(ONE).verify(got.body.replace("desk-1", "desk-2"), got.headers)


async def test_with_two_secrets_a_receiver_of_either_is_content(endpoint: Receiver) -> None:
    await deliver(Webhook(endpoint.url, secret="PAIR"), PAIR=f"{TWO} {ONE}")
    (got,) = endpoint.received

    assert standardwebhooks.Webhook(ONE).verify(got.body, got.headers)
    assert standardwebhooks.Webhook(TWO).verify(got.body, got.headers)


async def test_410_ends_it(endpoint: Receiver) -> None:
    answers(endpoint, answer(410))

    assert await deliver(Webhook(endpoint.url)) == NoticeEnd(status="gone")


@pytest.mark.parametrize(
    ("whole", "least", "most"),
    [
        (answer(500), 1.0, 2.0),
        (answer(404), 1.0, 2.0),
        (answer(429, retry_after="30"), 30.0, 30.0),
        (answer(503, retry_after="7"), 7.0, 7.0),
        (answer(503, retry_after="999999"), LONGEST_DELAY, LONGEST_DELAY),
        (answer(503, retry_after="soon"), 1.0, 2.0),
        (answer(503, retry_after="-5"), 1.0, 2.0),
    ],
)
async def test_the_next_attempt_comes_when_the_endpoint_says_or_else_soon(
    endpoint: Receiver, whole: bytes, least: float, most: float
) -> None:
    answers(endpoint, whole)
    error = await refused(Webhook(endpoint.url))

    assert error.non_retryable is False
    assert least <= seconds(error) <= most


@pytest.mark.parametrize(("attempt", "least", "most"), [(2, 2, 4), (5, 16, 32), (12, 2048, 3600), (99, 3600, 3600)])
async def test_attempts_come_less_and_less_often_and_once_an_hour_in_the_end(
    endpoint: Receiver, attempt: int, least: float, most: float
) -> None:
    answers(endpoint, answer(500))

    assert least <= seconds(await refused(Webhook(endpoint.url), attempt=attempt)) <= most


async def test_a_redirect_is_not_followed(endpoint: Receiver) -> None:
    answers(endpoint, answer(307, location=f"http://127.0.0.1:{endpoint.port}/elsewhere"))
    error = await refused(Webhook(endpoint.url))

    assert "307" in error.message
    assert "write the URL where it leads to" in error.message
    assert [each.path for each in endpoint.received] == ["/hook"]


async def test_of_a_long_answer_little_is_read_and_less_is_told(endpoint: Receiver) -> None:
    answers(endpoint, answer(500, "no\x1b[31m " * 100_000))
    error = await refused(Webhook(endpoint.url))

    assert len(error.message) < 300


async def test_an_endpoint_that_is_not_there_is_tried_again() -> None:
    error = await refused(Webhook("http://127.0.0.1:9/s3cret"))

    assert error.message.startswith("ConnectError")
    assert "s3cret" not in error.message


async def test_an_endpoint_that_never_comes_to_an_end_is_left(
    endpoint: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = asyncio.Event()

    async def slowly(number: int) -> bytes:
        await over.wait()
        return answer()

    endpoint.answering = slowly
    monkeypatch.setattr(webhook_posts, "WHOLE_SECONDS", 0.1)
    error = await refused(Webhook(endpoint.url))
    over.set()

    assert error.message == "no whole answer within 0.1 seconds"


async def test_neither_the_log_nor_an_error_names_the_url(endpoint: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="activities")
    caplog.set_level(logging.INFO, logger="root")
    answers(endpoint, answer(500), answer(200))
    webhook = Webhook(f"{endpoint.url}/s3cret", name="all")
    error = await refused(webhook)
    await deliver(webhook)

    assert [each for each in [error.message, caplog.text] if "s3cret" in each] == []
    assert (
        "notice msg_1 (job_ended) of job desk-1, attempt 1, for webhook all: the endpoint answered 500" in caplog.text
    )


def test_an_attempt_ends_before_its_time_is_over_and_attempts_go_on_for_three_days() -> None:
    longest = LOOK + timedelta(seconds=webhook_posts.WHOLE_SECONDS)

    assert longest < policies.NOTICE["start_to_close_timeout"]
    assert policies.NOTICE["schedule_to_close_timeout"] == timedelta(days=3)


# --- secrets


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "SUREFOOT_WEBHOOK_SECRET is not set"),
        ("hunter2", "secret 1 is not whsec_"),
        (f"{ONE} whsec_c2hvcnQ=", "secret 2 is not whsec_"),
    ],
)
async def test_without_a_usable_secret_nothing_is_sent_and_it_is_tried_again(
    endpoint: Receiver, value: str, says: str
) -> None:
    error = await refused(Webhook(endpoint.url), SUREFOOT_WEBHOOK_SECRET=value)

    assert says in error.message
    assert "hunter2" not in error.message
    assert error.non_retryable is False
    assert endpoint.received == []


@pytest.mark.parametrize("form", ["slack", "teams"])
async def test_chats_check_no_signature_and_need_no_secret(endpoint: Receiver, form: Any) -> None:
    await deliver(Webhook(endpoint.url, format=form, name="chat"), SUREFOOT_WEBHOOK_SECRET="")
    (got,) = endpoint.received

    assert got.headers["webhook-id"] == "msg_1_chat"
    assert "webhook-signature" not in got.headers


# --- whether it still holds


@pytest.mark.parametrize("event", ["decision_needed", "reminder", "escalated", "unknown_outcome"])
@pytest.mark.parametrize(
    "says",
    [
        None,
        CALL.model_copy(update={"asked_at": NOW + timedelta(seconds=1)}),
        WorkflowQueryRejectedError(WorkflowExecutionStatus.COMPLETED),
    ],
    ids=["decided", "asked-again", "ended"],
)
async def test_what_no_longer_waits_is_not_told(
    endpoint: Receiver, event: Any, says: Pending | Exception | None
) -> None:
    assert await deliver(Webhook(endpoint.url), notice(event), job=Job(says)) == NoticeEnd(status="stale")
    assert endpoint.received == []


@pytest.mark.parametrize(
    "says",
    [
        CALL,
        RPCError("nobody answers", RPCStatusCode.DEADLINE_EXCEEDED, b""),
        WorkflowQueryRejectedError(WorkflowExecutionStatus.CONTINUED_AS_NEW),
    ],
    ids=["waits", "unknown", "new-run"],
)
async def test_what_waits_or_may_wait_is_told(endpoint: Receiver, says: Pending | Exception) -> None:
    assert await deliver(Webhook(endpoint.url), notice("reminder"), job=Job(says)) == NoticeEnd(status="delivered")


@pytest.mark.parametrize("event", ["job_ended", "expired"])
async def test_what_has_happened_is_told_without_asking_the_job(endpoint: Receiver, event: Any) -> None:
    job = Job(None)

    assert await deliver(Webhook(endpoint.url), notice(event), job=job) == NoticeEnd(status="delivered")
    assert job.asked == 0


async def test_details_come_from_the_job(endpoint: Receiver) -> None:
    await deliver(Webhook(endpoint.url, details=True), notice("decision_needed"))

    assert endpoint.received[0].json["data"]["details"] == {"arguments": {"amount": 5}}


# --- deploys


async def test_a_webhook_that_this_worker_does_not_have_may_be_anothers_for_a_while() -> None:
    webhook = Webhook("https://hooks.example.com")
    first = await refused(webhook, name="other")
    last = await refused(webhook, name="other", attempt=LOOKS)
    stranger = await refused(webhook, notice(agent="nobody"), attempt=LOOKS)

    assert (first.non_retryable, last.non_retryable, stranger.non_retryable) == (False, True, True)
    assert first.message == "agent 'desk' has no webhook 'other' (any more)"


async def test_links_that_can_not_be_made_hold_a_notice_back_until_the_setting_is_mended(endpoint: Receiver) -> None:
    error = await refused(Webhook(endpoint.url), SUREFOOT_CONSOLE_URL="agents.example.com")

    assert "SUREFOOT_CONSOLE_URL='agents.example.com' is no address" in error.message
    assert error.non_retryable is False
