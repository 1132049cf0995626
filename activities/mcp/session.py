"""One life of a connection to a server: opened, listed, called, until it is closed or dies.

The `mcp` package ties a connection to the task that opened it, so each lives in a task of its own; calls may come from
any other task of the same event loop. A session that has ended is never used again: its link opens another one.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import ValidationError

from activities.errors import ToolError
from activities.mcp import fate
from activities.mcp.fate import EndUnseen, Unreachable
from activities.mcp.secrets import MissingSecret, Secrets
from activities.mcp.server import McpServer
from activities.mcp.wire import wired
from activities.tools.explain import cut, first_line, said

log = logging.getLogger("surefoot.mcp")
PAGES = 100
MESSAGE_CHARS = 2_000
WORDS_CHARS = 300
KEY = "surefoot/idempotency-key"
"""Under which a server finds a call's idempotency key, in the request's `_meta`."""

NEVER_ANSWERED = ("Connection closed", "SSE stream")
"""How the texts begin that the package itself gives to a request whose answer can't come any more."""


class Session:
    """An open connection. Make one with `opened`."""

    def __init__(self, server: McpServer, folder: Path, secrets: Secrets) -> None:
        self._server, self._folder, self._secrets = server, folder, secrets
        self.changed = False
        """Whether the server said that its list of tools is another one now."""
        self._last_words = ""
        self._end, self._ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(), name=f"mcp {server.name}")
        self._client: Client | None = None

    @classmethod
    async def opened(cls, server: McpServer, folder: Path, kept: "set[Session]") -> "Session":
        """Connect, within the server's time. Raises `Unreachable`, which says why, and what to do.

        The session is in `kept` until it is closed, also one that did not come to be: a child may take seconds to end.
        """
        try:
            session = cls(server, folder, Secrets(server))
        except MissingSecret as error:
            raise Unreachable(str(error)) from None
        kept.add(session)
        session._keeper.add_done_callback(lambda _: kept.discard(session))
        await asyncio.wait([session._ready], timeout=server.timeout)
        if not session._ready.done():
            session.leave()
            raise Unreachable(f"it did not answer within {server.timeout:g} seconds{session._words()}")
        session._ready.result()
        return session

    @property
    def alive(self) -> bool:
        return not self._end.is_set() and not self._keeper.done()

    def end(self) -> None:
        """It is not to be used any more, and closes by itself."""
        self._end.set()

    def leave(self) -> None:
        """Close it, also if it is still being opened."""
        self.end()
        if not self._ready.done():
            # Once only: a second cancellation would break into the end of a child, which would go on then.
            self._ready.cancel()
            self._keeper.cancel()

    async def closed(self) -> None:
        """Wait until nothing of it is left."""
        await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        noted = fate.Fate()
        fate.current.set(noted)
        try:
            await self._connect()
        except BaseException as error:  # whatever a server or the package does ends its session, and nothing else
            if self._ready.cancelled():
                pass  # it took too long, and nobody waits any more
            elif not self._ready.done():
                self._ready.set_exception(Unreachable(self._why(error, noted)))
            elif not self._end.is_set():
                log.warning(
                    "%s: the connection broke: %s", self._server.name, self._secrets.hide(said(_root(error), 300))
                )
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.end()

    async def _connect(self) -> None:
        """Open the connection, and close it once it has ended."""
        wires = wired(self._server, self._folder, self._secrets, ended=self.end, heard=self._note)
        with self._secrets.hidden_in_logs():
            async with Client(wires, cache=None, message_handler=self._hear, client_info=_ourselves()) as client:
                self._client = client
                listening = asyncio.create_task(self._listen(client))
                if not self._ready.done():
                    self._ready.set_result(None)
                await self._end.wait()
                listening.cancel()
                await asyncio.wait([listening])

    def _why(self, error: BaseException, noted: fate.Fate) -> str:
        error = _root(error)
        if isinstance(error, Unreachable):
            return str(error)
        if noted.status in (401, 403):
            return f"it answered HTTP {noted.status}: check its headers, and the secrets that they name"
        if noted.status is not None and noted.status >= 400:
            return f"it answered HTTP {noted.status}: check its url"
        if noted.trouble:
            return f"nothing answers at its url ({self._secrets.hide(noted.trouble)}): start it, or mend the url"
        text = self._secrets.hide(first_line(error))
        if self._server.command and text == "Connection closed":
            return f"{self._server.command[0]} ended, or closed its stdout, before it answered{self._words()}"
        return f"it can't be talked to: {text}"

    def _note(self, line: str) -> None:
        self._last_words = line or self._last_words

    def _words(self) -> str:
        """What a child said last, for a person who looks for what is wrong with it."""
        return f"; the last line of its stderr: {cut(self._last_words, WORDS_CHARS)}" if self._last_words else ""

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed = True
        elif isinstance(message, Exception):
            log.warning(
                "%s: a message could not be read: %s", self._server.name, self._secrets.hide(first_line(message))
            )
            self.end()  # it may have been the answer to a call, which would wait for it in vain

    async def _listen(self, client: Client) -> None:
        """Since 2026-07-28, notifications come only to who asks for them."""
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self.changed = True

    async def list_tools(self) -> list[types.Tool]:
        """All tools, however many pages they fill. Raises `Unreachable`."""
        self.changed = False
        found: list[types.Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._server.timeout):
                for _ in range(PAGES):
                    page = await self._connected().list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        return found
        except TimeoutError:
            self.end()
            raise Unreachable(f"it did not list its tools within {self._server.timeout:g} seconds") from None
        except Exception as error:  # whatever the package raises: without a list there is nothing to call
            self.end()
            raise Unreachable(f"it did not list its tools: {self._secrets.hide(first_line(error))}") from None
        raise Unreachable(f"its list of tools does not end after {PAGES} pages")

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str) -> types.CallToolResult:
        """Call a tool once. What the server says against it is a `ToolError`.

        Raises `Unreachable` if the call certainly was not sent, `EndUnseen` if nobody knows how it ended.
        """
        noted = fate.Fate(sent=False)
        fate.current.set(noted)
        try:
            return await self._connected().call_tool(
                tool, dict(arguments), meta=cast(types.RequestParamsMeta, {KEY: key})
            )
        except MCPError as error:
            raise self._end_of_call(error, noted) from None
        except (RuntimeError, ValidationError) as error:
            # It was called, and answered what it should not have by its own schema or by the protocol.
            raise ToolError(f"The call was made, but its result can't be used: {self._said(error)}") from None

    def _end_of_call(self, error: MCPError, noted: fate.Fate) -> Exception:
        if not noted.sent:
            self.end()
            return Unreachable(self._secrets.hide(noted.trouble) or "the connection was closed")
        unanswered = error.code == types.CONNECTION_CLOSED and error.message.startswith(NEVER_ANSWERED)
        garbled = error.code == types.PARSE_ERROR
        if unanswered or garbled or noted.trouble or (noted.status or 0) >= 500:
            if not garbled:
                self.end()
            what = f"HTTP {noted.status}" if (noted.status or 0) >= 500 else self._said(error)
            return EndUnseen(f"the server went away during the call ({noted.trouble or what})")
        if noted.status is not None and noted.status >= 400:
            return ToolError(f"The server refused the call with HTTP {noted.status}: {self._said(error)}")
        return ToolError(f"The server refused the call: {self._said(error)} (code {error.code})")

    def _said(self, error: Exception) -> str:
        return cut(self._secrets.hide(said(error)), MESSAGE_CHARS)

    def hide(self, text: str) -> str:
        return self._secrets.hide(text)

    def _connected(self) -> Client:
        assert self._client is not None, "a session is handed out once it is open"
        return self._client


def _ourselves() -> types.Implementation:
    return types.Implementation(name="surefoot", version="1")


def _root(error: BaseException) -> BaseException:
    """The first real cause in a group of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
