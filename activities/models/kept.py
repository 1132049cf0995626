"""What a model call leaves to its next attempt, for one model of the agent's list, in the attempt's ledger.

A ledger belongs to one call of one turn; the model's place and name keep what one provider gave from being asked of
another, also after a deploy with another list.
"""

import logging

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.attempts import Attempt

log = logging.getLogger(__name__)


class KeptForModel:
    """The `Kept` of one model."""

    def __init__(self, attempt: Attempt, place: int, model: str) -> None:
        self._attempt, self._key = attempt, f"{place} {model}"

    @property
    def value(self) -> str | None:
        return self._attempt.ledger.kept.get(self._key)

    async def keep(self, value: str | None) -> None:
        try:
            await self._attempt.keep(self._key, value)
        except RPCError as error:  # what it would be kept for goes on all the same, so giving up would only lose it
            log.warning("%s could not be kept at once: %s; a later heartbeat carries it", self._key, error)

    def forget(self) -> None:
        """Keep nothing; said to the server with the next record of the ledger."""
        self._attempt.ledger.kept.pop(self._key, None)

    async def wanted(self) -> bool:
        details = activity.cancellation_details()
        if details is not None and details.cancel_requested:
            return False
        if not self._attempt.is_over and (details is None or not details.not_found):
            return True  # out of time, or the worker shuts down
        info = self._attempt.info
        try:
            handle = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
            return (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
        except RPCError:
            return True
