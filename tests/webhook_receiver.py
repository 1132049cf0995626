"""An endpoint for webhooks: keeps what it is sent, and answers what the test says."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.surefoot.endpoints import listening
from tests.waiting import until

Answering = Callable[[int], Awaitable[bytes]]
"""The whole answer to the request of this number, from 1."""


def answer(status: int = 200, text: str = "", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(text.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()


async def ok(number: int) -> bytes:
    return answer()


@dataclass(frozen=True)
class Received:
    """One request. `body` is what its signature is over."""

    path: str
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def type(self) -> str:
        return str(self.json["type"])


@dataclass
class Receiver:
    """`answering` may be changed while it is up."""

    answering: Answering = ok
    port: int = 0
    received: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def count(self) -> int:
        return len(self.received)

    async def got(self, count: int) -> list[Received]:
        """The requests, once there are so many."""
        await until(self.count, lambda seen: seen >= count)
        return self.received

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            named = (line.split(": ", 1) for line in head[1:] if ": " in line)
            headers = {name.lower(): value for name, value in named}
            body = (await reader.readexactly(int(headers["content-length"]))).decode()
            self.received.append(Received(head[0].split()[1], headers, body))
            writer.write(await self.answering(len(self.received)))
            await writer.drain()


@asynccontextmanager
async def receiver(answering: Answering = ok) -> AsyncIterator[Receiver]:
    endpoint = Receiver(answering)
    async with listening(endpoint.serve) as port:
        endpoint.port = port
        yield endpoint
