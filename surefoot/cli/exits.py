"""Exit codes, and the one place where errors become a text on stderr, a code and, with `--json`, a document.

A command that fails prints `{"error", "kind", "exit_code"}` as its one document: a job that failed has an outcome and
prints that, so `kind` tells a command that failed from a job that did.
"""

import asyncio
import sys
import traceback
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode

from activities.connection import logged_runtime
from activities.errors import DefinitionError, UnknownAgent
from activities.payloads import BadKeys
from surefoot.cli.documents import plain
from surefoot.cli.output import fail
from surefoot.embedded.errors import HomeInUse
from surefoot.errors import (
    BadLines,
    BatchEnded,
    BatchGivenUp,
    DecisionRefused,
    JobConflict,
    NoSuchBatch,
    NoSuchJob,
    NoSuchLane,
    NoSuchQueue,
    NoSuchRound,
    NoSuchSchedule,
    ScheduleConflict,
    ServerNotReached,
    SurefootError,
    TooLarge,
    Unreadable,
    WrongValue,
)
from surefoot.rpc import UNREACHED
from surefoot.settings import SettingsError
from workflows.contracts import Outcome, Status

COMPLETE, FAILED, WRONG_USE, NOT_DONE, WAITING, NO_SERVER, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

ENDS: dict[Status, int] = {
    "complete": COMPLETE,
    "hit_iteration_cap": NOT_DONE,
    "hit_tool_call_cap": NOT_DONE,
    "hit_token_cap": NOT_DONE,
    "hit_cost_cap": NOT_DONE,
    "hit_wall_clock": NOT_DONE,
    "no_progress": NOT_DONE,
    "cancelled": NOT_DONE,
    "tool_failure": FAILED,
    "model_failure": FAILED,
    "invalid_output": FAILED,
    "failed": FAILED,
}

WRONG = (
    SettingsError, BadKeys, Unreadable, DefinitionError, UnknownAgent, NoSuchJob, NoSuchRound, JobConflict, TooLarge,
    WrongValue, HomeInUse, NoSuchBatch, BatchEnded, BatchGivenUp, BadLines, NoSuchSchedule, ScheduleConflict,
    NoSuchLane,
    NoSuchQueue,
)  # fmt: skip
WRONG_DECISIONS = ("UnknownCall", "InvalidArguments", "NotAllowed")
"""Kinds of `DecisionRefused` that no other moment would have made right."""


def code_of(outcome: Outcome) -> int:
    return ENDS[outcome.status]


def run(work: Coroutine[Any, Any, int | None]) -> NoReturn:
    """Run a command's coroutine to its exit code."""
    # Left to itself, the SDK would log into the middle of an answer or a document.
    Runtime.set_default(logged_runtime("ERROR"), error_if_already_set=False)
    with telling():
        try:
            sys.exit(asyncio.run(work) or COMPLETE)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


@contextmanager
def telling() -> Iterator[None]:
    """What goes wrong in here is said, and ends the process with its exit code."""
    try:
        yield
    except click.ClickException:
        raise
    except Exception as error:
        sys.exit(tell(error))


def tell(error: Exception) -> int:
    """Say what went wrong; the exit code."""
    kind, text = type(error).__name__, str(error)
    details: dict[str, object] = {}
    if isinstance(error, DecisionRefused):
        kind = error.kind
        details = {"decided": plain(error.decided)} if error.decided else {}
    elif isinstance(error, RPCError):
        text = f"the Temporal server said: {error.message}"
    elif isinstance(error, OSError):
        text = f"{error.filename or 'the output'} can't be read or written: {error.strerror}"
    elif not isinstance(error, (*WRONG, SurefootError)):
        traceback.print_exception(error)
        text = f"a fault of Surefoot itself: {kind}: {text}. Please report it with the lines above; jobs are safe"
    return fail(text, kind, _code(error), **details)


def _code(error: Exception) -> int:
    if isinstance(error, DecisionRefused):
        return WRONG_USE if error.kind in WRONG_DECISIONS else FAILED
    if isinstance(error, RPCError):
        wrong = error.status == RPCStatusCode.INVALID_ARGUMENT
        return WRONG_USE if wrong else NO_SERVER if error.status in UNREACHED else FAILED
    if isinstance(error, WRONG):
        return WRONG_USE
    return NO_SERVER if isinstance(error, ServerNotReached) else FAILED
