"""Brings a person's word on a call (a decision, a resolution) to its job, so that it takes effect once or is refused.

It is sent as an update, which answers. The server may apply an update late, or lose it: one that no worker has seen,
one whose workflow task failed, one whose run ended. So without an answer the state is read again, and while the call
still waits, the signal of the same meaning is sent, which the server keeps. The job takes whichever comes first, and
refuses the other.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic_core import PydanticSerializationError
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError

from activities.rendering import well_formed
from surefoot.errors import DecisionRefused, JobEnded, NoWorker, SurefootError, TooLarge
from surefoot.rpc import reaching
from workflows.contracts import Decided, Decision, JobView, Resolution
from workflows.gate import already_decided
from workflows.received import WORD_BYTES

if TYPE_CHECKING:
    from surefoot.job import Job

Word = TypeVar("Word", Decision, Resolution)


@dataclass(frozen=True)
class Applied:
    """What became of a decision: `applied` at once, or `sent`, kept by the server until a worker is up."""

    status: Literal["applied", "sent"]
    decided: Decided | None = None


async def send(job: "Job", name: str, word: Word, asked_at: datetime | None = None) -> Applied:
    """Send a word to its job by the update and, without a worker, by the signal called `name`.

    `asked_at` is which question it answers, for calls that can be asked about more than once.
    """
    word = _well_formed(word)
    # One id per question and content: sent twice at once, it is applied once and answered alike.
    asked = asked_at.isoformat() if asked_at else ""
    update_id = f"{name}-{hashlib.sha256(_encoded(word) + asked.encode()).hexdigest()[:32]}"
    try:
        with reaching(job.id):
            decided = await job.handle().execute_update(
                name, word, id=update_id, result_type=Decided, rpc_timeout=job.answer_within
            )
    except WorkflowUpdateFailedError as error:
        raise _refused(error) from None
    except (WorkflowUpdateRPCTimeoutOrCancelledError, NoWorker, JobEnded):
        return await _send_durably(job, name, word, asked_at)
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
        if all(pending.call != word.call for pending in view.pending):
            raise _why_not(view, word.call)
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
    return _why_not(view, call)


def _why_not(view: JobView, call: str) -> DecisionRefused:
    for decided in view.decided:
        if decided.call == call:
            return DecisionRefused("AlreadyDecided", already_decided(decided), decided)
    if view.state == "ended":
        return DecisionRefused("JobEnded", f"job {view.job} has ended; nothing can be decided any more")
    waiting = ", ".join(pending.call for pending in view.pending) or "none"
    return DecisionRefused("UnknownCall", f"no call {call} waits in job {view.job}; waiting: {waiting}")
