"""Runs a tool's own code without the exceptions that would break what is around it.

A future can't carry StopIteration or GeneratorExit, so that whoever waits for it would wait for ever or be closed;
asyncio lets SystemExit and KeyboardInterrupt through, which would stop the worker with all its jobs. All of them become
ordinary failures.
"""

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any


async def run_anywhere(function: Callable[..., Any], arguments: dict[str, Any], executor: Executor) -> Any:
    """Call a function once: a coroutine function here, a plain one in the executor with the same context variables."""
    if inspect.iscoroutinefunction(function):
        return await _await_contained(function(**arguments))
    run = functools.partial(run_contained, functools.partial(function, **arguments))
    state = contextvars.copy_context()
    returned = await asyncio.get_running_loop().run_in_executor(executor, state.run, run)
    return await _await_contained(returned) if inspect.isawaitable(returned) else returned


def run_contained(run: Callable[[], Any]) -> Any:
    """Call a plain function."""
    try:
        return run()
    except (StopIteration, GeneratorExit) as error:
        raise RuntimeError(f"the tool's code raised {type(error).__name__}") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise _no_exit(error) from error


async def _await_contained(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise _no_exit(error) from error


def _no_exit(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the tool's code tried to end the process: {error!r}")
