"""What people see of a running job: its view, and the memo and search attributes that lists are made of.

They are written here alone, from the state, so that they can't disagree with it; all of them are bounded.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic_core import to_json
from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from workflows.contracts import JobPhase, JobState, JobView, JsonObject, Pending
from workflows.gate import Gate
from workflows.outcomes import cut
from workflows.transcript import Transcript

AGENT = SearchAttributeKey.for_keyword("SurefootAgent")
PHASE = SearchAttributeKey.for_keyword("SurefootState")
STATUS = SearchAttributeKey.for_keyword("SurefootStatus")
TENANT = SearchAttributeKey.for_keyword("SurefootTenant")
TAGS = SearchAttributeKey.for_keyword_list("SurefootTags")
ASKED_AT = SearchAttributeKey.for_datetime("SurefootAskedAt")
BATCH = SearchAttributeKey.for_keyword("SurefootBatch")
COST = SearchAttributeKey.for_float("SurefootCost")
TOKENS = SearchAttributeKey.for_int("SurefootTokens")
UNMEASURED = SearchAttributeKey.for_int("SurefootUnmeasured")
SAVED = SearchAttributeKey.for_float("SurefootSaved")
QUEUE = SearchAttributeKey.for_keyword("SurefootQueue")
ATTRIBUTES = (AGENT, PHASE, STATUS, TENANT, TAGS, ASKED_AT, BATCH, COST, TOKENS, UNMEASURED, SAVED, QUEUE)
"""What lists find jobs by. A server has to know them before the first job starts."""

BRIEF_BYTES = 400
"""Longest text or arguments of a call in the memo; what is longer is read whole by query."""

MEMO_BYTES = 20_000
"""Most bytes of pending calls in the memo: it is written at each decision, and comes along with every row of a list."""
MEMO_CALLS = 50

VIEW_BYTES = 1_000_000
"""Most bytes of pending calls in one view, so that it fits into an answer; the others follow as those are decided."""

T = TypeVar("T", Pending, JsonObject, str)


class Board:
    """Writes down what of `state` lists are made of, each time that it differs from what they were told last."""

    def __init__(self, state: JobState, transcript: Transcript, gate: Gate) -> None:
        self._state, self._transcript, self._gate = state, transcript, gate
        # A run that goes on from another one shows what that one showed last.
        self._shown: tuple[JobPhase, list[Pending]] = (self.phase(), gate.pending())
        self._ended = False

    def phase(self) -> JobPhase:
        if self._state.queue is not None and not self._state.queue.begun:
            return "queued"
        if self._state.paused:
            return "paused"
        if self._gate.waits():
            return "waiting"
        batched = self._state.batched
        return "running" if batched is None or batched.outside else "batched"

    def show(self) -> None:
        """Write the job's phase and its pending calls where lists are made from, if they changed."""
        now = (self.phase(), self._gate.pending())
        # A command behind the one that ends the run would be refused, and the run never end.
        if self._ended or now == self._shown:
            return
        changes: list[SearchAttributeUpdate[Any]] = []
        if now[0] != self._shown[0]:
            changes.append(PHASE.value_set(now[0]))
            # If it is in a batch, that is told when it ends. Who hands back what jobs wait for in a lane tells it too.
            self._state.has_waited |= now[0] in ("waiting", "paused")
        if now[1] and _oldest(now[1]) != _oldest(self._shown[1]):
            changes.append(ASKED_AT.value_set(_oldest(now[1])))
        if changes:
            workflow.upsert_search_attributes(changes)
        if now[1] != self._shown[1]:
            told = fitting([brief(pending) for pending in now[1][:MEMO_CALLS]], MEMO_BYTES)
            workflow.upsert_memo({"pending": told or None, "pending_left_out": (len(now[1]) - len(told)) or None})
        self._shown = now

    def show_end(self, status: str) -> None:
        self._ended = True
        changes: list[SearchAttributeUpdate[Any]] = [PHASE.value_set("ended"), STATUS.value_set(status)]
        if self._state.batch is not None or self._state.charged:
            spent = self._state.message.usage  # what was spent before a reply stands with the run before it
            changes += [COST.value_set(spent.cost_usd), TOKENS.value_set(spent.tokens)]
            changes += [UNMEASURED.value_set(spent.unmeasured)] if spent.unmeasured else []
            changes += [SAVED.value_set(spent.saved_usd)] if spent.saved_usd else []
        workflow.upsert_search_attributes(changes)
        if self._shown[1]:
            workflow.upsert_memo({"pending": None, "pending_left_out": None})

    def view(self) -> JobView:
        info = workflow.info()
        return JobView(
            job=info.workflow_id,
            state=self.phase(),
            pending=fitting(self._gate.pending(), VIEW_BYTES),
            entries=len(self._transcript),
            **seen_of(self._state),
            history_events=info.get_current_history_length(),
            history_bytes=info.get_current_history_size(),
        )


def _oldest(pending: Sequence[Pending]) -> datetime:
    """Since when a job waits. Without pending calls nobody looks at it: the phase says that nothing waits."""
    return min((each.asked_at for each in pending), default=datetime.min.replace(tzinfo=UTC))


def seen_of(state: JobState) -> dict[str, Any]:
    """What people see of a job's state, while it runs and after it has ended."""
    return {
        "agent": state.agent,
        "rounds": state.overall.rounds,
        "tool_calls": state.overall.usage.tool_calls,
        "usage": state.overall.usage,
        "decided": list(state.decided.values()),
        "by": state.by,
        "tenant": state.tenant,
        "tags": state.tags,
        "model": state.model,
        "limits": state.limits,
        "total": state.total,
        "spent": state.message.model_copy(),  # the state goes on changing
        "parent": state.parent,
        "root": state.root,
        "lent": state.lent,
        "children": state.children,
        "epoch": state.epoch.number if state.epoch else 0,
        "batch": state.batch,
        "queue": state.queue.name if state.queue else None,
    }


def fitting(values: list[T], limit: int) -> list[T]:
    """As many values from the front as fit into `limit` bytes, at least one if there is one."""
    size = 0
    for count, each in enumerate(values):
        size += len(to_json(each))
        if size > limit and count:
            return values[:count]
    return values


def brief(pending: Pending) -> JsonObject:
    """A pending call as the memo holds it: small; long values are marked and read whole by query."""
    value: JsonObject = pending.model_dump(mode="json", exclude={"arguments", "parameters"})
    value["why"] = cut(pending.why, BRIEF_BYTES)
    value["preview"] = cut(pending.preview, BRIEF_BYTES) if pending.preview is not None else None
    value["problem"] = cut(pending.problem, BRIEF_BYTES) if pending.problem is not None else None
    value["barred"] = [*fitting(pending.barred, BRIEF_BYTES)]
    value["arguments"] = pending.arguments if len(to_json(pending.arguments)) <= BRIEF_BYTES else None
    kept = (value["arguments"], value["why"], value["preview"], value["problem"], value["barred"])
    value["whole"] = kept == (pending.arguments, pending.why, pending.preview, pending.problem, pending.barred)
    return value
