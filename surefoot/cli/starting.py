"""Starts a job so that whoever interrupts the command is told afterwards whether there is one.

An interrupt while the server's answer is on its way leaves open whether there is one, so that answer is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from surefoot.cli.output import say
from surefoot.errors import SurefootError
from surefoot.job import Job
from surefoot.texts import quoted

ANSWER_SECONDS = 3.0
"""How long an interrupted start may take to be answered: longer than the server, shorter than patience."""


class Start:
    """One start of the job `id`, if it has one yet, or of a new run of it; `nothing` says how things are without it."""

    def __init__(self, id: str | None, nothing: str = "nothing was started") -> None:
        self.id = id
        self._nothing = nothing
        self._begun = False

    def of(self, begin: Callable[[], Coroutine[Any, Any, Job]]) -> Callable[[], Awaitable[Job]]:
        """`begin`, which still waits a little for the answer when it is interrupted, and tells it."""

        async def start() -> Job:
            self._begun = True
            asked = asyncio.create_task(begin())
            try:
                return await asyncio.shield(asked)
            except asyncio.CancelledError:
                say(await self._became(asked))
                raise

        return start

    @contextmanager
    def told(self) -> Iterator[None]:
        """Around all that comes before: interrupted there, it says that nothing was started."""
        try:
            yield
        except (KeyboardInterrupt, asyncio.CancelledError):
            if not self._begun:
                self._begun = True  # said once
                say(f"\n{self._nothing}")
            raise

    async def _became(self, asked: "asyncio.Task[Job]") -> str:
        try:
            job = await asyncio.wait_for(asked, ANSWER_SECONDS)
        except TimeoutError:
            see = f"show {quoted(self.id)}" if self.id is not None else "jobs"
            return f"\nwhether it was started is not known yet; see: surefoot {see}"
        except SurefootError as error:
            return f"\n{self._nothing}: {error}"
        return f"\njob {job.id} was started and goes on; follow it: surefoot watch {quoted(job.id)}"
