"""A server of the Responses API in background mode: what is begun is made until the test says that it is done."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.surefoot.endpoints import listening

POST = "POST /v1/responses"


@dataclass
class ResponsesServer:
    """`texts` are the answers in the order of their POSTs, the last one again and again."""

    texts: list[str] = field(default_factory=lambda: ["done"])
    done: bool = False
    failing: int = 0
    """How many of the next looks are answered by a 503."""
    seen: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a worker that asks this server."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.port}/v1",
            "OPENAI_API_KEY": "none-needed",
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def posts(self) -> int:
        """How many responses were begun, and would be paid for."""
        return self.seen.count(POST)

    async def looks(self) -> int:
        return sum(line.startswith("GET ") for line in self.seen)

    async def stopped(self) -> list[str]:
        return [line.split("/")[3] for line in self.seen if line.endswith("/cancel")]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            size = next((int(line[15:]) for line in head if line.startswith("content-length:")), 0)
            await reader.readexactly(size)
            method, path, _ = head[0].split(" ")
            self.seen.append(f"{method.upper()} {path}")
            status, body = self._answer(method, path)
            said = json.dumps(body).encode()
            writer.write(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n" % status)
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(said), said))
            await writer.drain()

    def _answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        if method == "post":
            return 200, {"id": f"resp_{self.posts}", "status": "queued", "output": [], "store": True}
        if self.failing:
            self.failing -= 1
            return 503, {"error": {"message": "no server is free"}}
        response_id = path.split("/")[3]
        if not self.done:
            return 200, {"id": response_id, "status": "in_progress", "output": []}
        text = self.texts[min(int(response_id.removeprefix("resp_")), len(self.texts)) - 1]
        output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        usage = {"input_tokens": 20, "output_tokens": 5}
        return 200, {"id": response_id, "status": "completed", "output": output, "store": True, "usage": usage}


@asynccontextmanager
async def responses_server(*texts: str) -> AsyncIterator[ResponsesServer]:
    server = ResponsesServer(list(texts) or ["done"])
    async with listening(server.serve) as port:
        server.port = port
        yield server
