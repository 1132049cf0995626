"""An app's own check of a final answer, such as whether it says what the results it refers to say.

The check is users' code that runs after each answer: what it raises, or that it hangs, is a problem of the answer too,
since nobody vouches for an answer that could not be checked.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import JsonValue

from activities.errors import DefinitionError
from activities.models import citations
from activities.threads import run_contained
from activities.tools.explain import cut, said, shown
from workflows.contracts import Entry, Result

log = logging.getLogger(__name__)
SECONDS = 5.0
PROBLEM_CHARS = 2_000


@dataclass(frozen=True)
class FinalAnswer:
    """An answer, and what it can be held against.

    text      as the model wrote it
    output    the same by the agent's output schema, None without one
    results   what all tools of the job returned, in order; those that failed have `is_error`
    cited     those of them that the text refers to by [#call id], in the text's order
    unknown   the ids that the text refers to and no result has
    """

    text: str
    output: JsonValue = None
    results: tuple[Result, ...] = ()
    cited: tuple[Result, ...] = ()
    unknown: tuple[str, ...] = ()


Check = Callable[[FinalAnswer], str | None]
"""None for an answer that may stand; else what is wrong with it, written for the model."""


def checked(where: str, check: object) -> Check | None:
    """The check of an agent; raises `DefinitionError` for what can't be one."""
    if check is None:
        return None
    if not callable(check) or inspect.iscoroutinefunction(check):
        what = "is async" if callable(check) else "is no function"
        raise DefinitionError(
            f"{where} has check={check!r}, which {what}. Give a plain function that takes a FinalAnswer and returns"
            " None or what is wrong with it."
        )
    try:
        inspect.signature(check).bind(FinalAnswer(""))
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{where} has check={check!r}, which can't be called with one FinalAnswer ({error}). Give it one parameter."
        ) from error
    return check


def final_answer(text: str, output: JsonValue, entries: Sequence[Entry]) -> FinalAnswer:
    """An answer beside the results of its transcript."""
    results = {entry.call: entry for entry in entries if isinstance(entry, Result)}
    ids = citations.cited(text)
    return FinalAnswer(
        text=text,
        output=output,
        results=tuple(results.values()),
        cited=tuple(results[id] for id in ids if id in results),
        unknown=tuple(id for id in ids if id not in results),
    )


async def problem_of(check: Check, answer: FinalAnswer, threads: ThreadPoolExecutor) -> str | None:
    """What the check says is wrong with the answer, or that it could not say. Never raises."""
    try:
        async with asyncio.timeout(SECONDS):
            problem = await asyncio.get_running_loop().run_in_executor(threads, run_contained, lambda: check(answer))
    except TimeoutError:
        return f"The answer could not be checked: the check took more than {SECONDS:g} seconds."
    except Exception as error:
        log.warning("the check of an answer raised", exc_info=True)
        return f"The answer could not be checked: {type(error).__name__}: {said(error, PROBLEM_CHARS)}"
    if problem is None or (isinstance(problem, str) and problem.strip()):
        return None if problem is None else cut(problem, PROBLEM_CHARS)
    return f"The answer could not be checked: the check returned {shown(problem)}, neither None nor a text."
