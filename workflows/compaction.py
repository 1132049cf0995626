"""Makes room when what was said is too long for the model: notes each new epoch, and has the model sum up.

Whether it is too long is seen where the entries are, in the activities; what becomes of it is decided here. For one
model call there is at most one summary, whether it comes about or not.
"""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import failures, outcomes, policies, steps, words
from workflows.contracts import AgentSpec, CallModel, Epoch, JobState, ModelReply, Status, Summary, Usage
from workflows.desk import Desk
from workflows.flight import Flight
from workflows.limits import Allowance
from workflows.transcript import Transcript

PROBLEM_BYTES = 1_000


class Compaction:
    """The epochs of one job: `state.epoch` and `state.compacting`."""

    def __init__(
        self, state: JobState, spec: AgentSpec, transcript: Transcript, desk: Desk, allowance: Allowance, flight: Flight
    ) -> None:
        self._state, self._spec, self._transcript, self._desk = state, spec, transcript, desk
        self._allowance, self._flight = allowance, flight

    @property
    def is_due(self) -> bool:
        """Whether what was said has to be summed up before the model is asked."""
        return self._state.compacting == "due"

    def terms(self, closing: Status | None) -> dict[str, Any]:
        """The fields of a model call that say what it sees, and what it may do when that is too long.

        No summary is made for a closing call, which may be the one that a cost limit still allows.
        """
        last = closing is not None or self._state.compacting == "done"
        epoch = {"epoch": self._state.epoch} if self._state.epoch is not None else {}
        return {"compaction": "trim" if last else "summarize", **epoch}

    def take(self, reply: ModelReply) -> None:
        """Note what a model call did to make room, or that a summary is due."""
        if reply.epoch is not None:
            self._begin(reply.epoch, words.TRIMMED.format(until=reply.epoch.trim_until, **_tokens(reply.epoch)))
        self._state.compacting = "due" if reply.too_long else "no"

    async def sum_up(self, request: CallModel) -> None:
        """Have the model sum up; without a summary the job goes on with what it has."""
        self._state.compacting = "done"
        try:
            handle = workflow.start_activity(steps.summarize, request, **policies.asking(self._spec))
            summary: Summary = await self._flight.land(handle)
        except ActivityError as error:
            lost = failures.attempts(error)
            self._allowance.spend(Usage(failed_attempts=lost, unmeasured=lost))
            self._give_up(failures.reason(error))
            return
        lost = summary.failed_attempts
        self._allowance.spend(summary.usage + Usage(failed_attempts=lost, unmeasured=lost))
        if summary.instead_of:
            outcomes.note_stand_in(self._state, summary.model, summary.instead_of)
        if summary.problem is not None:
            self._give_up(summary.problem)
            return
        self._begin_with(summary)

    def _begin_with(self, summary: Summary) -> None:
        place, before = len(self._transcript), self._state.epoch
        epoch = Epoch(
            number=before.number + 1 if before else 1,
            began=place,
            trim_until=max(summary.until, before.trim_until if before else 0),
            summary_at=place,
            summary_until=summary.until,
            before=summary.before,
            after=summary.after,
        )
        text = words.SUMMED_UP.format(until=summary.until, **_tokens(epoch))
        self._begin(epoch, text, summary.text)

    def _begin(self, epoch: Epoch, text: str, summary: str | None = None) -> None:
        self._state.epoch = epoch
        self._desk.note("compacted", text=text, epoch=epoch, summary=summary)

    def _give_up(self, why: str) -> None:
        self._desk.note("not_compacted", text=outcomes.cut(words.NOT_SUMMED_UP.format(why=why), PROBLEM_BYTES))


def _tokens(epoch: Epoch) -> dict[str, int]:
    return {"before": epoch.before, "after": epoch.after}
