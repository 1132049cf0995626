"""Exit codes, and the one place where errors become a line on stderr and a code."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, NoReturn

import click

from activities.errors import DefinitionError, UnknownAgent
from surefoot.errors import JobConflict, NoSuchJob, ServerNotReached, SurefootError, TooLarge
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

WRONG = (SettingsError, DefinitionError, UnknownAgent, NoSuchJob, JobConflict, TooLarge)


def code_of(outcome: Outcome) -> int:
    return ENDS[outcome.status]


def run(work: Coroutine[Any, Any, int | None]) -> NoReturn:
    """Run a command's coroutine to its exit code; what goes wrong on the way is said in one line."""
    try:
        code = asyncio.run(work) or COMPLETE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (BrokenPipeError, ConnectionResetError):
        code = COMPLETE  # whoever read our output has seen enough
    except (SurefootError, DefinitionError, UnknownAgent) as error:
        click.echo(f"surefoot: {error}", err=True)
        code = _code(error)
    sys.exit(code)


def _code(error: Exception) -> int:
    if isinstance(error, ServerNotReached):
        return NO_SERVER
    return WRONG_USE if isinstance(error, WRONG) else FAILED
