"""What goes wrong between people and jobs, in one tree. Each text says what was seen and what to do.

SurefootError
├── ServerNotReached   no Temporal server answers
├── NoWorker           the server answers, but no worker does
├── NoSuchJob          no job of this id (or it is past its retention)
├── NoSuchBatch        no batch of this id
├── NoSuchLane         no lane of this name
├── NoSuchSchedule     no schedule of this id
├── BadLines           lines of a batch file that can't be jobs; nothing was started
├── BatchEnded         something for a running batch was sent to one that has ended
├── BatchGivenUp       something for a running batch was sent to one that is given up and has not ended yet
├── NoSuchRound        a fork of a round that the job does not have, or that is not over
├── JobConflict        the id belongs to a job with another input
├── ScheduleConflict   the id belongs to another schedule
├── JobRunning         a reply to a job that has not ended
├── JobEnded           something for a running job was sent to one that has ended
├── TooLarge           a text does not fit into one message
├── WrongValue         a tenant, tag, priority or time that can't be
├── Unreadable         what the server keeps of a job can't be read here, mostly for lack of an encryption key
└── DecisionRefused    a decision changed nothing; `kind` says why
"""

from collections.abc import Sequence
from typing import Protocol

from workflows.contracts import Decided


class SurefootError(Exception):
    """Base of all of them.

    `seen` is what was seen and why it is wrong, in words that hold wherever it is read. The whole text goes on with
    `command`, what to type on a command line now; it begins with its own punctuation.
    """

    def __init__(self, seen: str = "", command: str = "") -> None:
        super().__init__(f"{seen}{command}")
        self.seen = seen


class ServerNotReached(SurefootError):
    """No Temporal server answers."""


class NoWorker(SurefootError):
    """The server holds the job, but no worker is up to look at it."""


class NoSuchJob(SurefootError):
    """There is no job of this id."""


class NoSuchBatch(SurefootError):
    """There is no batch of this id."""


class NoSuchSchedule(SurefootError):
    """There is no schedule of this id."""


class NoSuchLane(SurefootError):
    """No lane of this name collects requests for provider batches."""


class NoSuchQueue(SurefootError):
    """No job was started in a queue of this name."""


class NumberedProblem(Protocol):
    """A line of a file, from 1, and what is wrong with it."""

    @property
    def number(self) -> int: ...

    @property
    def problem(self) -> str: ...


class BadLines(SurefootError):
    """Lines of a batch file can't be jobs; `lines` are the first of them."""

    def __init__(self, seen: str, lines: Sequence[NumberedProblem]) -> None:
        super().__init__(seen)
        self.lines = lines


class BatchEnded(SurefootError):
    """The batch has ended."""


class BatchGivenUp(SurefootError):
    """No more jobs of the batch begin, and it has not ended yet."""


class NoSuchRound(SurefootError):
    """The job has no such round, or it is not over yet."""


class JobConflict(SurefootError):
    """The id is taken by a job that was started differently."""


class ScheduleConflict(SurefootError):
    """The id is taken by a schedule of another job, or of other times."""


class JobRunning(SurefootError):
    """The job has not ended yet."""


class JobEnded(SurefootError):
    """The job has ended."""


class TooLarge(SurefootError):
    """A text is too large for one message."""


class WrongValue(SurefootError):
    """A value that no job or schedule can have."""


class Unreadable(SurefootError):
    """The server has the job, and this process can't read what it keeps of it."""


class DecisionRefused(SurefootError):
    """A decision had no effect.

    `kind` is `AlreadyDecided` (then `decided` tells by whom, when and what), `UnknownCall`, `StaleArguments`,
    `InvalidArguments`, `NotAllowed` or `JobEnded`.
    """

    def __init__(self, kind: str, message: str, decided: Decided | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.decided = decided
