"""The agents and queues that there are, where this process has the app file; elsewhere any name may be one.

The file may change while a console is up. It is read again once a worker has the new code, since that is what counts:
until then a job of a new agent would fail.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from activities.apps import App
from activities.errors import DefinitionError, UnknownAgent
from surefoot.embedded.worker_record import AppVersion, app_version
from surefoot.http.problems import Refusal


class Offered:
    """Those of an app `file`. `load` reads it, `is_served` says whether a worker has its present code."""

    def __init__(self, file: Path, load: Callable[[Path], App], is_served: Callable[[], bool]) -> None:
        self._file, self._load, self._is_served = file, load, is_served
        self._version: AppVersion | None = app_version(file)
        self._app = load(file)

    async def names(self) -> Sequence[str]:
        """The agents of the app, in its order."""
        await self._look_again()
        return list(self._app.agents)

    async def queues(self) -> Sequence[str]:
        """The named queues of the app, in its order."""
        await self._look_again()
        return list(self._app.queues)

    async def check(self, agent: str) -> None:
        """Raises `Refusal` if the app has no agent of this name."""
        await self._look_again()
        try:
            self._app.agent(agent)
        except UnknownAgent as error:
            raise Refusal(422, "unknown-agent", str(error)) from None

    async def check_queue(self, queue: str | None) -> None:
        """Raises `Refusal` if one is named and the app has no queue of this name."""
        if queue is None:
            return
        await self._look_again()
        try:
            self._app.queue(queue)
        except DefinitionError as error:
            raise Refusal(422, "unknown-queue", str(error)) from None

    async def _look_again(self) -> None:
        try:
            now = app_version(self._file)
            if now == self._version or not self._is_served():
                return
            self._version, self._app = now, await asyncio.to_thread(self._load, self._file)
        except (OSError, DefinitionError):  # what the worker has it loaded before: its agents are still these
            return
