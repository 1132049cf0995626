"""A server of the Chat Completions API that counts the requests it gets, and may hold back its answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

ANSWER = {
    "model": "gpt-4o",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
}

Pace = Callable[[int], Coroutine[Any, Any, object]]


class ChatServer:
    """`pace` is awaited with a request's number, from 1, before that request is answered."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self.port = 0
        self.bodies: list[dict[str, Any]] = []

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a worker that asks this server."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.port}/v1",
            "OPENAI_API_KEY": "none-needed",
            "NO_PROXY": "127.0.0.1",
        }

    async def requests(self) -> int:
        return len(self.bodies)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until its other end is gone, as it is when a worker was killed."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                self.bodies.append(json.loads(await reader.readexactly(size)))
                await self._pace(len(self.bodies))
                said = json.dumps(ANSWER).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(said), said))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def chat_server(pace: Pace) -> AsyncIterator[ChatServer]:
    """A running server; what it still holds back ends with it."""
    server = ChatServer(pace)
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(server.answer(reader, writer)))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
