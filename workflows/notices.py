"""What an agent's webhooks are told of its jobs. A job starts the deliveries and never waits for their end.

They run in child workflows that the job's own end does not touch: an endpoint that is down costs a job nothing. What
comes up in one workflow task goes into one child, since each adds nine events to the job's history (five at its end).
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import FailureError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from workflows import approval
from workflows.contracts import CallState, JobState, Notice, NoticeEvent, Notices, Outcome
from workflows.outcomes import cut

WORKFLOW = "NoticeDelivery"
TOGETHER = 100
"""Most notices in one child: each takes three events of its history for every webhook."""

TEXT_BYTES = 2_000


class Announcer:
    """Tells the webhooks of the job in `state`; true while it has told something that is not on its way yet."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._told: list[Notice] = []
        self._sending: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        return self._sending is not None

    def tell_of_call(self, event: NoticeEvent, call: CallState) -> None:
        asking = call.plan.asking
        self._tell(
            event,
            call=call.call.id,
            tool=call.call.tool,
            digest=call.digest,
            asked_at=call.asked_at,
            expires_at=approval.expires_at(call) if call.phase == "asking" else None,
            approvers=approval.approvers(call),
            **({} if asking.self_approval else {"self_approval": False}),
            **({"risk": asking.risk} if asking.risk != "normal" else {}),
        )

    def tell_of_end(self, end: Outcome) -> None:
        answer = cut(end.answer, TEXT_BYTES) if end.answer else None
        self._tell("job_ended", status=end.status, summary=cut(end.summary, TEXT_BYTES), answer=answer)

    def _tell(self, event: NoticeEvent, **about: object) -> None:
        spec = self._state.spec
        webhooks = spec.notices.get(event) if spec is not None else None
        if not webhooks:
            return
        given = {name: value for name, value in about.items() if value not in (None, [])}
        self._told.append(
            Notice(
                id=f"msg_{workflow.uuid4().hex}",
                event=event,
                at=workflow.now(),
                job=workflow.info().workflow_id,
                agent=self._state.agent,
                webhooks=webhooks,
                **({"tenant": self._state.tenant} if self._state.tenant else {}),
                **given,
            )
        )
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        """Start a child for what was told so far; what is told meanwhile is the next one's."""
        try:
            while self._told:
                batch, self._told = self._told[:TOGETHER], self._told[TOGETHER:]
                await _start(batch)
        finally:
            self._sending = None


async def _start(batch: list[Notice]) -> None:
    """Returns once the server has started it: a child that has not begun would be lost with its job's end."""
    try:
        delivery = await workflow.start_child_workflow(
            WORKFLOW,
            Notices(notices=batch),
            id=name(),
            parent_close_policy=ParentClosePolicy.ABANDON,
            cancellation_type=ChildWorkflowCancellationType.ABANDON,
            task_timeout=workflow.info().task_timeout,
            static_summary=", ".join(dict.fromkeys(notice.event for notice in batch)),
        )
    except FailureError as error:
        workflow.logger.warning("%d notices could not be sent: %s", len(batch), error)
        return
    delivery.add_done_callback(_seen)


def name() -> str:
    """A workflow id for a child.

    Not made of the job's, which may be as long as ids can be, nor counted: a job that is reset, or replied to twice at
    once, would use a number again.
    """
    return f"notices-{workflow.uuid4()}"


def _seen(delivery: "asyncio.Future[object]") -> None:
    """How it ended is in its own history; asyncio would complain of an error that nobody looked at."""
    if not delivery.cancelled():
        delivery.exception()
