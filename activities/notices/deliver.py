"""Tells one webhook of one notice: looks whether it still holds, sends it, and says when to try again.

Delivered at least once, under one id: an attempt whose answer was lost is repeated.
"""

import asyncio
import logging
import os
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus, WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.apps import App
from activities.errors import DefinitionError, UnknownAgent
from activities.notices.decision_links import Links
from activities.notices.messages import message
from activities.notices.posts import NotDelivered, open_http, post
from activities.notices.webhooks import Webhook
from activities.tools.explain import said
from workflows.contracts import DeliverNotice, Notice, NoticeEnd, NoticeEvent, Pending

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)
LOOK = timedelta(seconds=3)
"""How long the job may take to say whether a call still waits; a notice too many is better than one too few."""

LONGEST_DELAY = 3600.0
LOOKS = 15
"""How often workers without the webhook may be met, as during a deploy, before it counts as removed."""

OF_WAITING: tuple[NoticeEvent, ...] = ("decision_needed", "reminder", "escalated", "unknown_outcome")
"""Events that nobody needs to be told of once the call was decided."""


class Notifier:
    """The activity that knows webhooks; `retry_seconds` is the wait after the first failure, and doubles."""

    def __init__(self, app: App, retry_seconds: float, environment: Mapping[str, str] = os.environ) -> None:
        self._app, self._retry_seconds, self._environment = app, retry_seconds, environment
        self._http: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    @activity.defn
    async def deliver_notice(self, request: DeliverNotice) -> NoticeEnd:
        notice, webhook = request.notice, self._webhook(request)
        waits, pending = await _look(notice)
        if not waits:
            log.info("notice %s (%s) of job %s is stale", notice.id, notice.event, notice.job)
            return NoticeEnd(status="stale")
        try:
            links = Links.from_environment(self._environment)
            told = message(notice, webhook, links, datetime.now(UTC), pending)
            answer = await post(await self._client(), webhook, told, self._environment)
        except NotDelivered as error:
            raise self._again(request, str(error), error.delay) from None
        except DefinitionError as error:
            raise self._again(request, str(error)) from None
        except Exception as error:
            log.exception("notice %s for webhook %s could not be sent", notice.id, webhook.name)
            raise self._again(request, f"{type(error).__name__}: {said(error, 200)}") from None
        if answer.gone:
            log.warning("webhook %s answered 410 Gone: it is not tried again for notice %s", webhook.name, notice.id)
        return NoticeEnd(status="gone" if answer.gone else "delivered")

    def _webhook(self, request: DeliverNotice) -> Webhook:
        try:
            agent = self._app.agent(request.notice.agent)
        except UnknownAgent as error:
            raise self._again(request, str(error), final=activity.info().attempt >= LOOKS) from None
        for webhook in agent.webhooks:
            if webhook.name == request.webhook:
                return webhook
        problem = f"agent {agent.name!r} has no webhook {request.webhook!r} (any more)"
        raise self._again(request, problem, final=activity.info().attempt >= LOOKS)

    async def _client(self) -> "httpx2.AsyncClient":
        async with self._opening:
            if self._http is None:
                self._http = await asyncio.to_thread(open_http)
        return self._http

    def _again(
        self, request: DeliverNotice, problem: str, asked: float | None = None, *, final: bool = False
    ) -> ApplicationError:
        """The failure of this attempt, with the time until the next one: the endpoint's own, or one that doubles."""
        attempt = activity.info().attempt
        # Spread out: what waited for one endpoint to come back would fall on it all at once.
        wait = self._retry_seconds * 2.0 ** min(attempt - 1, 20) * random.uniform(0.5, 1.0)
        delay = min(max(wait, asked or 0.0), LONGEST_DELAY)
        log.warning(
            "notice %s (%s) of job %s, attempt %d, for webhook %s: %s; %s",
            request.notice.id,
            request.notice.event,
            request.notice.job,
            attempt,
            request.webhook,
            problem,
            "given up" if final else f"next attempt in {delay:.0f} s, for three days in all",
        )
        return ApplicationError(
            problem,
            type="NotDelivered",
            non_retryable=final,
            next_retry_delay=timedelta(seconds=delay),
            category=ApplicationErrorCategory.BENIGN,  # the log has it, in one line
        )


async def _look(notice: Notice) -> tuple[bool, Pending | None]:
    """Whether the question that a notice tells of still waits, and the call as it is now, if the job says so."""
    if notice.event not in OF_WAITING:
        return True, None
    handle = activity.client().get_workflow_handle(notice.job)
    try:
        pending: Pending | None = await handle.query(
            "pending_call",
            notice.call,
            result_type=Pending,
            reject_condition=QueryRejectCondition.NOT_OPEN,
            rpc_timeout=LOOK,
        )
    except WorkflowQueryRejectedError as error:
        # The job has ended, unless it only went on in a new run while it was asked.
        return error.status == WorkflowExecutionStatus.CONTINUED_AS_NEW, None
    except Exception as error:
        log.info("notice %s: job %s does not say what waits (%s)", notice.id, notice.job, said(error, 200))
        return True, None
    if pending is None or pending.asked_at != notice.asked_at:
        return False, pending
    return notice.digest in (None, pending.digest), pending  # an edit that others must approve is another question
