"""Reads what came in from outside: anybody on the server may send anything, and none of it may fail a workflow task.

Handlers take any number of values of any kind for that reason, and refuse here; a value that could not be decoded
arrives as a `RawValue` (`activities/payloads.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from workflows.contracts import JobStart, Record
from workflows.faults import faults_of

R = TypeVar("R", bound=Record)

WORD_BYTES = 1_500_000
"""Most bytes of one decision, resolution or message, so that what it becomes fits into one payload (2 MB)."""

NAME_CHARS = 300
"""Longest id, digest or name of a person."""

LONG_TEXTS = ("text", "result", "arguments")


def refusal(kind: str, message: str, *details: Record) -> ApplicationError:
    """The answer to something that changes nothing: `kind` is what a client branches on."""
    return ApplicationError(message, *details, type=kind, non_retryable=True)


def received(kind: type[R], sent: Sequence[object]) -> R:
    """The one record that was sent. Whatever is not exactly that is refused, and changes nothing."""
    word = kind.__name__.lower()
    if len(sent) != 1:
        raise refusal("NotAllowed", f"a {word} is one JSON object, and {len(sent)} values came; nothing was executed")
    value = sent[0]
    # A field that this version does not know may be a restriction that it would not keep.
    if isinstance(value, dict) and (unknown := value.keys() - kind.model_fields.keys()):
        raise refusal(
            "NotAllowed",
            f"this is no {word}: it has {', '.join(sorted(map(str, unknown)))[:NAME_CHARS]}, which no {word} has;"
            f" its fields are {', '.join(kind.model_fields)}; nothing was executed",
        )
    try:
        record = kind.model_validate(value, strict=True)
    except ValidationError as error:
        raise refusal("NotAllowed", f"this is no {word}: {faults_of(error)}; nothing was executed") from None
    _check_size(word, record)
    return record


def received_loosely(kind: type[R], sent: Sequence[object]) -> R:
    """The one record that our own activities or workflows sent: as `received`, but times come as texts."""
    try:
        (value,) = sent
        return kind.model_validate(value)
    except (ValueError, ValidationError) as error:
        told = faults_of(error) if isinstance(error, ValidationError) else f"{len(sent)} values came"
        raise refusal("NotAllowed", f"this is no {kind.__name__.lower()}: {told}; nothing was changed") from None


def _check_size(word: str, record: Record) -> None:
    for name, value in record:
        if isinstance(value, str) and name not in LONG_TEXTS and len(value) > NAME_CHARS:
            raise refusal("NotAllowed", f"{name} of this {word} has {len(value)} characters, at most {NAME_CHARS} fit")
    size = len(record.model_dump_json(exclude_unset=True).encode())
    if size > WORD_BYTES:
        raise refusal("TooLarge", f"this {word} has {size} bytes, at most {WORD_BYTES} fit; nothing was executed")


def received_start(sent: Sequence[object]) -> JobStart:
    """The input of a run; raises ValueError with the reason if this is none."""
    if len(sent) != 1:
        raise ValueError(f"it was started with {len(sent)} inputs, and a job has one; start jobs through surefoot")
    if isinstance(sent[0], RawValue):
        encoding = sent[0].payload.metadata.get("encoding", b"").decode(errors="replace")
        raise ValueError(f"its input can't be read (encoding {encoding[:NAME_CHARS]!r}); start jobs through surefoot")
    try:
        start = JobStart.model_validate(sent[0])
    except ValidationError as error:
        raise ValueError(f"{faults_of(error)}; start jobs through surefoot") from None
    if start.resumed and start.carry is None:
        raise ValueError("it says that it goes on from an earlier run, and has nothing of that run")
    for call in start.carry.calls if start.carry else []:
        if call.phase in ("asking", "unknown") and call.asked_at is None:
            raise ValueError(f"call {call.call.id} waits for a person in it, and nothing says since when")
    return start


@contextmanager
def unanswered() -> Iterator[None]:
    """A signal's sender hears nothing: that it had no effect can only be noted."""
    try:
        yield
    except ApplicationError as error:
        workflow.logger.warning("a signal had no effect: %s", error.message)
