"""What the failure of an activity means for its job: in words, in attempts, and for a write that was under way.

`activities/attempts.py` puts in what is read here: the mark among the heartbeat details, and how many attempts there
were as the first detail of its errors.
"""

from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutError, TimeoutType

FAILED = (ActivityError, ApplicationError)
"""What an activity's failure is raised as: a local one comes without the wrapper."""

FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""Faults of code end a workflow as failed, wherever they come up. NondeterminismError is not among them: a deploy that
running jobs can't follow is taken back, and they go on."""


def reason(error: FailureError) -> str:
    """What an activity's failure says for a reader: the innermost message, with its kind."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, ApplicationError):
        return f"{cause.type}: {cause.message}" if cause.type else cause.message
    if isinstance(cause, TimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START:
        return "no worker took it up in time: none serves its queue any more, or too much waits there"
    if isinstance(cause, TimeoutError):
        return f"no answer in time ({cause.type.name if cause.type else 'timeout'})"
    return str(cause)


def attempts(error: FailureError) -> int:
    """How many attempts there were, as far as the failure tells; each of them may have been charged for."""
    cause = error.cause
    count = cause.details[0] if isinstance(cause, ApplicationError) and cause.details else 1
    return count if isinstance(count, int) else 1


def may_have_run(error: FailureError) -> bool:
    """Whether a write that ended without a reply may have happened: not if its time ran out before its mark."""
    cause = error.cause
    if not isinstance(cause, TimeoutError):
        return True
    ledgers = [each for each in cause.last_heartbeat_details if isinstance(each, dict)]
    return any(bool(ledger.get("started")) for ledger in ledgers)
