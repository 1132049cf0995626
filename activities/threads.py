"""Where users' code runs: away from the worker's event loop, without the exceptions that would break what is around it.

Plain functions run in a pool of threads, coroutines on an event loop in a thread of its own, since an `async def` that
blocks would otherwise hold up every job of the worker and keep it from showing a sign of life. A future can't carry
StopIteration or GeneratorExit, so that whoever waits for it would wait for ever or be closed; asyncio lets SystemExit
and KeyboardInterrupt through, which would stop the loop. All of them become ordinary failures.
"""

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

log = logging.getLogger(__name__)
CANCEL_SECONDS = 1.0
"""How long a cancelled coroutine gets to clean up before nobody waits for it any more."""


class Threads(ThreadPoolExecutor):
    """A pool of threads for plain functions, and one more thread for coroutines."""

    def __init__(self, most: int) -> None:
        super().__init__(most, thread_name_prefix="tool")
        self._side = LoopThread("tool-loop")

    async def run(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Call a function once, with the context variables of the caller."""
        if inspect.iscoroutinefunction(function):
            return await self._side.run(functools.partial(function, **arguments))
        call = functools.partial(run_contained, functools.partial(function, **arguments))
        state = contextvars.copy_context()
        returned = await asyncio.get_running_loop().run_in_executor(self, state.run, call)
        return await self._side.run(lambda: returned) if inspect.isawaitable(returned) else returned

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._side.stop(wait)
        super().shutdown(wait, cancel_futures=cancel_futures)


class LoopThread:
    """An event loop in a daemon thread, which starts with the first coroutine; a blocked one keeps no process alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    async def run(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """What the coroutine returns or raises. Cancelled, it is waited for a moment: what it has done then counts."""
        loop = self._started()
        ended: Future[Any] = Future()
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            tasks.append(loop.create_task(_settle(make, ended)))

        loop.call_soon_threadsafe(begin)
        waiter = asyncio.wrap_future(ended)
        try:
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if not waiter.done():
                waiter.add_done_callback(_looked_at)
                loop.call_soon_threadsafe(lambda: tasks[0].cancel())
                await asyncio.wait([waiter], timeout=CANCEL_SECONDS)
            if not waiter.done():
                raise
            return waiter.result()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                ready, self._loop = threading.Event(), None
                self._thread = threading.Thread(target=self._serve, args=[ready], name=self._name, daemon=True)
                self._thread.start()
                ready.wait()
            if self._loop is None:
                raise RuntimeError("no event loop could be started for coroutines: too many open files?")
            return self._loop

    def _serve(self, ready: threading.Event) -> None:
        async def until_stopped() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._stop.wait()

        try:
            asyncio.run(until_stopped())
        except (SystemExit, KeyboardInterrupt) as error:  # of a task that a tool started and did not wait for
            log.error("a tool's task tried to end the process: %r; coroutines that were running are cancelled", error)
        finally:
            ready.set()

    def stop(self, wait: bool) -> None:
        with self._starting:
            thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None or loop is None or stop is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(stop.set)
        if wait:
            thread.join()


async def _settle(make: Callable[[], Awaitable[Any]], ended: "Future[Any]") -> None:
    """Run a coroutine, and hand its end to a thread that waits for it."""
    try:
        result = await make()
    except (SystemExit, KeyboardInterrupt) as error:
        ended.set_exception(_no_exit(error))
    except (StopIteration, GeneratorExit) as error:
        ended.set_exception(_no_result(error))
    except BaseException as error:
        ended.set_exception(error)
    else:
        ended.set_result(result)


def _looked_at(future: "asyncio.Future[Any]") -> None:
    """Nobody waits for this one any more, and asyncio would complain about an exception that nobody saw."""
    if not future.cancelled():
        future.exception()


def run_contained(run: Callable[[], Any]) -> Any:
    """Call a plain function."""
    try:
        return run()
    except (StopIteration, GeneratorExit) as error:
        raise _no_result(error) from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise _no_exit(error) from error


def _no_result(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the tool's code raised {type(error).__name__}")


def _no_exit(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the tool's code tried to end the process: {error!r}")
