"""Brings a person's word on a call (a decision, a resolution) to its job, so that it takes effect once or is refused.

It is sent as an update, which answers. The server may apply an update late, or lose it: one that no worker has seen,
one whose workflow task failed, one whose run ended. So without an answer the state is read again, and while the call
still waits, the signal of the same meaning is sent, which the server keeps. The job takes whichever comes first, and
refuses the other.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic_core import PydanticSerializationError
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError

from activities.tools.rendering import well_formed
from surefoot.errors import DecisionRefused, JobEnded, NoWorker, SurefootError, TooLarge
from surefoot.rpc import reaching
from workflows.contracts import Decided, Decision, JobView, Pending, Resolution, Result, ResultStatus
from workflows.gate import already_decided
from workflows.received import WORD_BYTES

if TYPE_CHECKING:
    from surefoot.job import Job

Word = TypeVar("Word", Decision, Resolution)

OVER: dict[ResultStatus, str] = {
    "ok": "it has run",
    "error": "it failed",
    "denied": "it was denied",
    "answered": "it was answered",
    "not_executed": "it was left out, and did not run",
    "expired": "nobody decided in time, so it expired and did not run",
    "unknown": "whether it happened was left open",
}
LOOKED_AT = 200
"""So many entries are looked through from the end for what became of a call."""


@dataclass(frozen=True)
class Applied:
    """What became of a decision: `applied` at once, or `sent`, kept by the server until a worker is up."""

    status: Literal["applied", "sent"]
    decided: Decided | None = None


async def send(job: "Job", name: str, word: Word, asked: Pending | None = None) -> Applied:
    """Send a word to its job by the update and, without a worker, by the signal called `name`.

    `asked` is the question that it answers: a call can be asked about more than once, and one person approve it again
    whose approval was set aside.
    """
    word = _well_formed(word)
    # One id per question and content: sent twice at once, it is applied once and answered alike.
    question = f"{asked.asked_at.isoformat()}{asked.renewed or ''}" if asked is not None else ""
    update_id = f"{name}-{hashlib.sha256(_encoded(word) + question.encode()).hexdigest()[:32]}"
    try:
        with reaching(job.id):
            decided = await job.handle().execute_update(
                name, word, id=update_id, result_type=Decided, rpc_timeout=job.answer_within
            )
    except WorkflowUpdateFailedError as error:
        refused = _refused(error)
        raise (await _explained(job, word.call, refused)) from None
    except (WorkflowUpdateRPCTimeoutOrCancelledError, NoWorker, JobEnded):
        return await _send_durably(job, name, word, asked.asked_at if asked is not None else None)
    return Applied("applied", decided)


async def _send_durably(job: "Job", name: str, word: Word, asked_at: datetime | None) -> Applied:
    """Without an answer nobody knows whether the update was taken: look, and if it was not, leave a signal."""
    try:
        view = await job.view()
    except NoWorker:
        pass
    else:
        if mine := next((decided for decided in view.decided if _is(decided, word, asked_at)), None):
            return Applied("applied", mine)
        waits = next((pending for pending in view.pending if pending.call == word.call), None)
        if waits is not None and _counts(waits, word):
            return Applied("applied")
        if waits is None:
            raise await _explained(job, word.call, _why_not(view, word.call))
    try:
        with reaching(job.id):
            await job.handle().signal(name, word)
    except JobEnded:
        raise await not_waiting(job, word.call) from None
    return Applied("sent")


def _is(decided: Decided, word: Decision | Resolution, asked_at: datetime | None) -> bool:
    """Whether this is what became of this word, and not of somebody else's or of an earlier one."""
    same = (decided.call, decided.choice, decided.by) == (word.call, word.choice, word.by)
    if asked_at is not None and decided.at < asked_at:
        return False
    return same and (not isinstance(word, Decision) or decided.digest == word.digest)


def _counts(waits: Pending, word: Decision | Resolution) -> bool:
    """Whether this is one of the approvals that a call has which needs several."""
    if not isinstance(word, Decision) or word.choice != "approve" or word.by not in waits.approved_by:
        return False
    return waits.digest == word.digest if word.arguments is None else waits.arguments == word.arguments


def _well_formed(word: Word) -> Word:
    """The word with texts that history can hold."""
    texts = {name: well_formed(value) for name, value in word if isinstance(value, str)}
    return word.model_copy(update={name: text for name, text in texts.items() if text != getattr(word, name)})


def _encoded(word: Decision | Resolution) -> bytes:
    try:
        encoded = word.model_dump_json(exclude_unset=True).encode()
    except PydanticSerializationError as error:
        raise DecisionRefused(
            "InvalidArguments", f"the arguments for {word.call} are no JSON: {error}; nothing was executed"
        ) from None
    if len(encoded) > WORD_BYTES:
        raise TooLarge(f"the decision on {word.call} has {len(encoded)} bytes, at most {WORD_BYTES} fit")
    return encoded


def _refused(error: WorkflowUpdateFailedError) -> SurefootError:
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return DecisionRefused("NotAllowed", str(cause or error))
    decided = Decided.model_validate(cause.details[0]) if cause.details else None
    return DecisionRefused(cause.type or "NotAllowed", cause.message, decided)


async def not_waiting(job: "Job", call: str) -> DecisionRefused:
    """Why a call can't be decided that does not wait (any more)."""
    try:
        view = await job.view()
    except NoWorker as error:
        if not await job.has_ended():
            raise
        return DecisionRefused("JobEnded", error.seen)
    return await _explained(job, call, _why_not(view, call))


R = TypeVar("R", bound=SurefootError)


async def _explained(job: "Job", call: str, refused: R) -> R | DecisionRefused:
    """A refusal of a call that waited once, with what became of it: whoever comes late must not think it never was."""
    if not isinstance(refused, DecisionRefused) or refused.kind not in ("UnknownCall", "JobEnded"):
        return refused
    with suppress(SurefootError):
        segments = await job.segments()
        first = max(0, sum(segment.entries for segment in segments) - LOOKED_AT)
        for entry in reversed(await job.entries(segments, first, LOOKED_AT)):
            if isinstance(entry, Result) and entry.call == call:
                ended = f"job {job.id} has ended, and " if refused.kind == "JobEnded" else ""
                return DecisionRefused(refused.kind, f"{ended}call {call} does not wait any more: {OVER[entry.status]}")
    return refused


def _why_not(view: JobView, call: str) -> DecisionRefused:
    for decided in view.decided:
        if decided.call == call:
            return DecisionRefused("AlreadyDecided", already_decided(decided), decided)
    if view.state == "ended":
        return DecisionRefused("JobEnded", f"job {view.job} has ended; nothing can be decided any more")
    waiting = ", ".join(pending.call for pending in view.pending) or "none"
    return DecisionRefused("UnknownCall", f"no call {call} waits in job {view.job}; waiting: {waiting}")
