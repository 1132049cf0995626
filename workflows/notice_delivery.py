"""Delivers what came up in a job to its agent's webhooks: one activity for each notice and webhook, tried for days.

A job abandons it when it has started it, so it has no say in the job: nothing here may need the job to be alive.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import policies, steps
from workflows.contracts import DeliverNotice, Notices
from workflows.failures import reason
from workflows.notices import WORKFLOW


@workflow.defn(name=WORKFLOW)
class NoticeDelivery:
    """Ends well whether or not its notices arrived: the log says what did not."""

    @workflow.run
    async def run(self, told: Notices) -> None:
        requests = [
            DeliverNotice(notice=notice, webhook=webhook) for notice in told.notices for webhook in notice.webhooks
        ]
        await asyncio.gather(*(_deliver(request) for request in requests))


async def _deliver(request: DeliverNotice) -> None:
    try:
        await workflow.execute_activity(steps.deliver_notice, request, **policies.NOTICE)
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning(
            "notice %s (%s) of job %s was not delivered to webhook %s, and is given up: %s",
            request.notice.id,
            request.notice.event,
            request.notice.job,
            request.webhook,
            reason(error),
        )
