"""Temporal's errors as ours: one table from status codes to what a person can do."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticSerializationError, ValidationError
from temporalio.service import RPCError, RPCStatusCode

from activities.payloads import UnreadablePayload
from surefoot.asking import wait_in_vain
from surefoot.errors import JobEnded, NoSuchJob, NoWorker, ServerNotReached, SurefootError, Unreadable
from surefoot.texts import quoted

UNREACHED = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.UNKNOWN, RPCStatusCode.ABORTED)
ENDED = ("already completed", "aborted by closing workflow")
"""What the server says of a job that ended, also of one that did so while an update was on its way."""

NOT_CONVERTED = "could not be converted"
"""What the SDK says in a RuntimeError, of which there are others, when a payload is of another shape than asked for."""

SHOWN = 200
NO_ANSWER = (RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION)


@contextmanager
def reaching(job: str) -> Iterator[None]:
    """Maps what Temporal raises while a job is reached for, and while its payloads are read."""
    try:
        yield
    except RPCError as error:
        raise _ours(job, error) from error
    except UnreadablePayload as error:
        raise Unreadable(f"job {job} can't be read here: {error}") from error
    except (ValidationError, KeyError) as error:  # another shape; an unknown encoding
        raise _not_ours(job, error) from error
    except RuntimeError as error:
        if NOT_CONVERTED not in str(error):
            raise
        raise _not_ours(job, error) from error
    except (UnicodeEncodeError, PydanticSerializationError) as error:
        raise SurefootError(f"job {job!r}: what is sent there can't be written as JSON or UTF-8: {error}") from None


def _ours(job: str, error: RPCError) -> SurefootError:
    if error.status == RPCStatusCode.NOT_FOUND:
        if error.message.startswith("Namespace "):
            return ServerNotReached(
                f"the Temporal server says: {error.message}",
                " Set TEMPORAL_NAMESPACE to one that it has, or make it: temporal operator namespace create"
                " --namespace NAME",
            )
        if any(words in error.message for words in ENDED):
            return job_ended(job)
        return no_such_job(job)
    if wait_in_vain(error):
        return NoWorker(
            f"too many questions wait for the worker of job {job}, which does not answer: it may hang or be overloaded."
            f" Try again in a moment; if it stays so, look into the worker's log ({error.message})"
        )
    if error.status in NO_ANSWER:
        return NoWorker(
            f"no worker answers for job {job}", f": start one with `surefoot worker --app FILE` ({error.message})"
        )
    if error.status in UNREACHED:
        return ServerNotReached(f"the Temporal server does not answer: {error.message}", "; see: surefoot doctor")
    return SurefootError(f"job {job}: {error.message} ({error.status.name})")


def no_such_job(job: str) -> NoSuchJob:
    return NoSuchJob(f"there is no job {job!r} on this server (or its retention is over)", "; see: surefoot jobs")


def job_ended(job: str) -> JobEnded:
    return JobEnded(f"job {job} has ended; a reply goes on with it", f": surefoot reply {quoted(job)} TEXT")


def _not_ours(job: str, error: Exception) -> Unreadable:
    return Unreadable(
        f"job {job} can't be read here: what the server keeps of it is not what this version of Surefoot writes"
        f" ({_in_a_line(error)}). Use the version that the job was started with; if that can't either, another"
        " program wrote it"
    )


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:SHOWN]
