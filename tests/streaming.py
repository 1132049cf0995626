"""A real HTTP server in this process that answers with streams, cut into chunks as a test wants them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Literal


@dataclass(frozen=True)
class Stream:
    """An answer: sent in these chunks, after which the server ends it, cuts the connection, or says nothing more."""

    chunks: Sequence[bytes]
    then: Literal["end", "cut", "silence"] = "end"
    status: int = 200
    content_type: str | None = "text/event-stream; charset=utf-8"


@dataclass
class StreamServer:
    """What a server was asked, and how many of its connections the other side closed while it was silent."""

    url: str = ""
    sent: list[Any] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: int = 0
    left: int = 0


@dataclass
class Heard:
    """What an adapter showed of an answer while it came: a `Live`."""

    pieces: list[tuple[str, str]] = field(default_factory=list)

    def say(self, kind: Literal["text", "reasoning", "call"], text: str) -> None:
        self.pieces.append((kind, text))

    @property
    def calls(self) -> list[str]:
        return [text for kind, text in self.pieces if kind == "call"]

    def joined(self, wanted: Literal["text", "reasoning"]) -> str:
        return "".join(text for kind, text in self.pieces if kind == wanted)


def cut(text: str | bytes, *sizes: int) -> list[bytes]:
    """The text in chunks of these sizes, again and again; by default of odd ones that split lines and letters."""
    return list(_cut(text.encode() if isinstance(text, str) else text, sizes or (1, 7, 3, 64, 2, 11, 255)))


def _cut(raw: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for size in cycle(sizes):
        if start >= len(raw):
            return
        yield raw[start : start + size]
        start += size


@asynccontextmanager
async def serving(*streams: Stream) -> AsyncIterator[StreamServer]:
    """A server that gives these answers in order, one a request, and keeps what it was asked."""
    left, seen = list(streams), StreamServer()
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await _read_request(reader, seen)
                stream = left.pop(0)
                await _send(writer, stream)
                if stream.then == "silence":
                    await reader.read()
                    seen.left += 1
                if stream.then != "end":
                    break
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield seen
        finally:
            for writer in writers:
                writer.close()
                with suppress(ConnectionError):
                    await writer.wait_closed()


async def _read_request(reader: asyncio.StreamReader, seen: StreamServer) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
    body = await reader.readexactly(int(lines.get("content-length", 0)))
    method, path, _ = head.split(" ", 2)
    seen.methods.append(method)
    seen.paths.append(path)
    seen.sent.append(json.loads(body) if body else None)


async def _send(writer: asyncio.StreamWriter, stream: Stream) -> None:
    kind = f"content-type: {stream.content_type}\r\n" if stream.content_type else ""
    writer.write(f"HTTP/1.1 {stream.status} OK\r\n{kind}transfer-encoding: chunked\r\n\r\n".encode())
    for chunk in stream.chunks:
        writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        await writer.drain()
    if stream.then == "end":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
