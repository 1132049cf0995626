"""One server as a worker process reaches it: at most one session at a time, and the tools that it listed last.

Everything here runs on one event loop. A server that could not be reached is left alone for a while, so that jobs do
not wait for it at every step.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from activities.errors import ToolError
from activities.mcp.arguments import UnusableSchema
from activities.mcp.fate import Unreachable
from activities.mcp.names import public_name
from activities.mcp.results import errors, shown
from activities.mcp.server import McpServer
from activities.mcp.session import Session
from activities.mcp.tool import Call, McpTool
from activities.tools.shown import Shown

log = logging.getLogger("surefoot.mcp")
LISTED_SECONDS = 300.0
"""How old a list of tools may be; one that has changed is fetched anew as soon as its server says so."""

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0


class Link:
    """The way to one server. `folder` is where its command runs."""

    def __init__(self, server: McpServer, folder: Path) -> None:
        self.server, self._folder = server, folder
        self._session: Session | None = None
        self._kept: set[Session] = set()
        self._opening: asyncio.Task[Session] | None = None
        self._listing = asyncio.Lock()
        self._listed: list[Any] = []
        self._listed_by: Session | None = None
        self._listed_at = 0.0
        self._trouble, self._pause, self._left_alone_until = "", 0.0, 0.0

    async def tools(self, call: Call, taken: Collection[str]) -> tuple[list[McpTool], dict[str, str]]:
        """Its tools that the agent wants and can have, and why it can't have the others. Raises `Unreachable`."""
        found: list[McpTool] = []
        left_out: dict[str, str] = {}
        for listed in await self._list():
            if not self.server.wants(listed.name):
                continue
            name = public_name(self.server.prefix, listed.name, taken)
            if any(tool.name == name for tool in found):
                left_out[listed.name] = "it is listed twice; the first of that name is used"
                continue
            try:
                found.append(McpTool(self.server, name, listed, call))
            except UnusableSchema as error:
                left_out[listed.name] = str(error)
        return found, left_out

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str) -> Shown:
        """Call a tool; once more, on a new session, if the first time it certainly was not sent.

        Raises `Unreachable`, `EndUnseen`, and `ToolError` for what the server says against it.
        """
        session = await self.session()
        try:
            result = await session.call(tool, arguments, key)
        except Unreachable:
            session = await self.session()
            result = await session.call(tool, arguments, key)
        if result.is_error:
            raise ToolError(session.hide(errors(result)))
        output = shown(result)
        return Shown(session.hide(output.text), session.hide(output.whole))

    async def session(self) -> Session:
        """The open session; a new one if there is none, or it died. Raises `Unreachable`."""
        if self._session is not None and self._session.alive:
            return self._session
        if self._opening is None:
            if _now() < self._left_alone_until:
                raise Unreachable(self._trouble)
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_looked_at)
        return await asyncio.shield(self._opening)

    async def _open(self) -> Session:
        since = _now()
        try:
            self._session = await Session.opened(self.server, self._folder, self._kept)
        except Unreachable as error:
            self._failed(error, since)
            raise
        finally:
            self._opening = None
        return self._session

    async def _list(self) -> list[Any]:
        async with self._listing:
            session, since = await self.session(), _now()
            current = session is self._listed_by and not session.changed and since - self._listed_at < LISTED_SECONDS
            if not current:
                try:
                    self._listed = await session.list_tools()
                except Unreachable as error:
                    self._failed(error, since)
                    raise
                self._listed_by, self._listed_at, self._pause = session, since, 0.0
                log.info("%s has %d tools", self.server.name, len(self._listed))
            return self._listed

    def _failed(self, error: Unreachable, since: float) -> None:
        """Leave it alone for a while, no shorter than it took to fail: jobs must not spend their time on waiting."""
        self._pause = min(max(self._pause * 2, FIRST_PAUSE, _now() - since), LONGEST_PAUSE)
        self._trouble, self._left_alone_until = str(error), _now() + self._pause
        log.warning(
            "MCP server %s can't be reached: %s; it is left alone for %.3g s", self.server.name, error, self._pause
        )

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        kept = list(self._kept)
        for session in kept:
            session.leave()
        await asyncio.gather(*(session.closed() for session in kept))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _looked_at(opening: "asyncio.Task[Session]") -> None:
    """Nobody may wait for it any more, and asyncio would complain about an exception that nobody saw."""
    if not opening.cancelled():
        opening.exception()
