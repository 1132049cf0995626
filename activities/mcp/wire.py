"""How messages travel to a server and back: the pipes of a child process, or HTTP.

The `mcp` package does the work. Around it stands what a worker needs besides: to be told of the end of a stream, of
messages that can't be read and of requests that never left, and a child's stderr in the log.
"""

import asyncio
import json
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from activities.mcp import child, fate
from activities.mcp.fate import Unreachable
from activities.mcp.secrets import Secrets
from activities.mcp.server import McpServer
from activities.tools.explain import cut, first_line
from activities.tools.rendering import well_formed

log = logging.getLogger("surefoot.mcp")
EVENT_BYTES = 64 * 1024 * 1024
"""Largest event of an HTTP stream; the package's own limit would refuse outputs of more than one megabyte."""

CONNECT_SECONDS = 30.0
LOG_CHARS = 1_000
LAST_WORDS_SECONDS = 0.5
"""How long the stderr of a child that has ended is read: a child of its own may hold it open."""

SESSION_HEADER = "mcp-session-id"
Item = SessionMessage | Exception


@asynccontextmanager
async def wired(
    server: McpServer, folder: Path, secrets: Secrets, *, ended: Callable[[], None], heard: Callable[[str], None]
) -> AsyncIterator[tuple["Incoming", "Outgoing"]]:
    """The two streams of a connection; `ended` is called when nothing more will come, `heard` with stderr's lines."""
    if server.command:
        async with _child_log(server, secrets, heard) as stderr:
            parameters = StdioServerParameters(
                command=_command(server)[0],
                args=_command(server)[1:],
                env=secrets.values(server.env),
                cwd=folder,
                encoding_error_handler="replace",
            )
            async with stdio_client(parameters, errlog=stderr) as (read, write):
                yield Incoming(read, ended), Outgoing(write)
        return
    headers = secrets.values(server.headers)
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
    async with (
        NotingClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(secrets.value(server.url), http_client=client, max_sse_event_size=EVENT_BYTES) as (
            read,
            write,
        ),
    ):
        yield Incoming(read, ended), Outgoing(write)


def _command(server: McpServer) -> list[str]:
    """What is started for a server. Raises `Unreachable` if there is no such command."""
    path = get_default_environment() | {name: value for name, value in server.env.items() if isinstance(value, str)}
    if not os.path.dirname(server.command[0]) and shutil.which(server.command[0], path=path.get("PATH")) is None:
        raise Unreachable(
            f"there is no command {server.command[0]!r} on the worker's PATH: install it, or give its path"
        )
    if sys.platform != "linux":
        return list(server.command)
    return [sys.executable, "-I", "-S", child.__file__, str(os.getpid()), *server.command]


@asynccontextmanager
async def _child_log(server: McpServer, secrets: Secrets, heard: Callable[[str], None]) -> AsyncIterator[TextIO]:
    """A file whose lines go to the worker's log, for a child's stderr."""
    reading, writing = os.pipe()
    stderr = os.fdopen(writing, "w")
    reader = asyncio.StreamReader(limit=LOG_CHARS * 16)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    copying = asyncio.create_task(_copy(reader, server.name, secrets, heard))
    try:
        yield stderr
    finally:
        stderr.close()
        await asyncio.wait([copying], timeout=LAST_WORDS_SECONDS)
        copying.cancel()
        transport.close()


async def _copy(reader: asyncio.StreamReader, name: str, secrets: Secrets, heard: Callable[[str], None]) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the reader holds: it was dropped
            continue
        if not line:
            return
        text = cut(secrets.hide(line.decode(errors="replace").rstrip()), LOG_CHARS)
        heard(text)
        log.info("%s: %s", name, text)


class Incoming:
    """What comes from the server."""

    def __init__(self, inner: Any, ended: Callable[[], None]) -> None:
        self._inner, self._ended = inner, ended

    @property
    def last_context(self) -> Any:
        """The sender's context, of which the package makes use."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        try:
            while (item := _mended(await self._inner.receive())) is None:
                pass
            return item
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "Incoming":
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Incoming":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outgoing:
    """What goes to the server."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        noted = fate.current.get()
        if noted is not None:
            noted.sent = True
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            if noted is not None:
                noted.sent = False
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "Outgoing":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _mended(item: Item) -> Item | None:
    """A message that could not be read, read after all: half a surrogate pair in it is no JSON to pydantic.

    Left as it is, nobody would answer the call that waits for it. None for a line that is no message at all: many
    servers print a greeting.
    """
    if not isinstance(item, ValidationError):
        return item
    line = item.errors()[0]["input"]
    try:
        if not isinstance(message := json.loads(line), dict):
            return None
        text = well_formed(json.dumps(message, ensure_ascii=False))
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except (ValueError, TypeError, RecursionError):
        return item if str(line).lstrip().startswith("{") else None


class NotingClient(httpx2.AsyncClient):
    """An HTTP client that notes what became of each request, and answers in the place of a server that is not there.

    An exception would end the package's whole connection, and with it the calls of other jobs.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        noted = (fate.current.get() if request.method == "POST" else None) or fate.Fate()
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
            noted.sent, noted.trouble = False, first_line(error)
            return httpx2.Response(503, request=request)
        except httpx2.TransportError as error:
            noted.trouble = first_line(error)
            return httpx2.Response(502, request=request)
        noted.status = response.status_code
        if response.status_code == 404 and SESSION_HEADER in request.headers:
            # By the protocol: it does not know this session (any more), and did nothing.
            noted.sent, noted.trouble = False, "it has forgotten the session"
        return response
