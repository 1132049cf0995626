"""Runs the application on one port, with uvicorn, until whoever started it has had enough.

Uvicorn waits for ever, for streams at its end and for a request that does not come: so streams are told to end first,
and who sends no request in time is cut off.
"""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from surefoot.errors import SurefootError
from surefoot.http.streams import Streams
from surefoot.settings import SettingsError

PORT = 8230
HEAD_SECONDS = 20.0
"""How long a client may take for the head of a request."""

UNREAD_SECONDS = 60
"""How long an answer may lie unread, where the system can tell."""

CONNECTIONS = 1000
END_SECONDS = 5


class Stopped(SurefootError):
    """The server ended, and nobody had told it to."""


@dataclass(frozen=True)
class Serving:
    """A server that runs at `url`."""

    url: str
    task: "asyncio.Task[None]"

    async def lost(self) -> NoReturn:
        """Waits until the server ends by itself. Raises `Stopped`."""
        await asyncio.wait([self.task])
        raise Stopped(f"the server at {self.url} ended by itself; its log has the reason")


@asynccontextmanager
async def serving(app: FastAPI, listener: socket.socket) -> AsyncIterator[Serving]:
    """Serve `app` on a socket from `listen`, which is closed at the end."""
    server = _Server(_config(app))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    streams: Streams = app.state.streams
    try:
        yield Serving(url_of(listener), task)
    finally:
        streams.close()
        server.should_exit = True
        await asyncio.wait([task])


def _config(app: FastAPI) -> uvicorn.Config:
    trusted = os.environ.get("FORWARDED_ALLOW_IPS")
    return uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # it would have query strings, and paths that are secrets: see `access_log`
        server_header=False,
        proxy_headers=trusted is not None,  # else anybody could say from where he comes
        forwarded_allow_ips=trusted,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=END_SECONDS,
    )


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the command that this server is a part of."""
        yield


class Patient(H11Protocol):
    """Cuts off who sends no whole head of a request in time: at first, and again after each answer."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self._idle():
            self._wait()
        super().data_received(data)
        if not self._idle():
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._cut)

    def _cut(self) -> None:
        self._deadline = None
        if self._idle() and not self.transport.is_closing():
            self.transport.close()

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket. Without a `port` it is the usual one, or any that is free if that is taken.

    Raises `SettingsError` if the address can't be listened on.
    """
    try:
        return _bound(host, PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bound(host, 0)
        why = str(error.strerror or error)
        if error.errno == errno.EADDRINUSE:
            why = "another program has it; choose another one with --port, 0 for any that is free"
        raise SettingsError(f"port {PORT if port is None else port} of {host} can't be listened on: {why}") from error


def _bound(host: str, port: int) -> socket.socket:
    found: Any = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    listener = socket.create_server(address, family=family, backlog=256)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # accepted sockets inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """How a browser on this machine reaches a socket."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
