"""A server of all four APIs in this process: it judges every request, and answers with what the test has drawn.

What it holds against a request is kept in `faults`, since an error answer would only make the job try again.
"""

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.judge import LONGEST_CHAT_ID, judge_chat, judge_responses
from tests.judge_anthropic import judge_messages
from tests.judge_google import judge_contents
from tests.surefoot.endpoints import listening
from tests.wire import bodies, streams
from tests.wire.answers import DONE, Act, Said, Trouble
from tests.wire.bodies import Issued
from tests.wire.provenance import check_anthropic, check_chat, check_google, check_responses

TOO_LONG: Final = "prompt is too long: 250000 tokens > 200000 maximum (context_length_exceeded)"


async def _nobody(act: Act) -> None:
    """Where no test has put a person."""


@dataclass
class ModelServer:
    """`answers` are given in their order, whichever API is asked; when they are used up, `DONE`."""

    answers: list[Said] = field(default_factory=list)
    schema_mode: bool = False
    person: Callable[[Act], Awaitable[None]] = _nobody
    faults: list[str] = field(default_factory=list)
    issued: Issued = field(default_factory=Issued)
    port: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """What the SDKs of a worker that asks this server read."""
        url = f"http://127.0.0.1:{self.port}"
        return {
            "ANTHROPIC_API_KEY": "none-needed",
            "ANTHROPIC_BASE_URL": url,
            "OPENAI_API_KEY": "none-needed",
            "OPENAI_BASE_URL": f"{url}/v1",
            "GEMINI_API_KEY": "none-needed",
            "GOOGLE_GEMINI_BASE_URL": url,
            "NO_PROXY": "127.0.0.1",
        }

    def begin(self, *, schema_mode: bool) -> None:
        """Forget the job before this one."""
        self.answers, self.faults = [], []
        self.schema_mode, self.person, self.issued = schema_mode, _nobody, Issued()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            size = next((int(line[15:]) for line in head if line.lower().startswith("content-length:")), 0)
            sent = await reader.readexactly(size)
            path = head[0].split(" ")[1].partition("?")[0]
            reply = await self._answer(path, sent)
            raw = reply.text.encode()
            size = len(raw) + (1000 if reply.cut else 0)
            opening = f"HTTP/1.1 {reply.status} X\r\ncontent-type: {reply.kind}\r\ncontent-length: {size}\r\n\r\n"
            writer.write(opening.encode() + raw)
            await writer.drain()
            if reply.cut:
                return

    async def _answer(self, path: str, sent: bytes) -> "Reply":
        try:
            body = json.loads(sent.decode())
            api = self._judge(path, body)
        except Exception:
            self.faults.append(f"{path}\n{traceback.format_exc()}\n{sent[:20_000].decode(errors='replace')}")
            return Reply(json.dumps({"error": {"message": "the judge says no"}}), status=400)
        said = self.answers.pop(0) if self.answers else DONE
        if said.act is not None:
            await self.person(said.act)
        if self.schema_mode:
            said = bodies.action(said)
        return self._told(api, path, body, said)

    def _judge(self, path: str, body: Any) -> str:
        api = api_of(path)
        if api == "anthropic":
            judge_messages(body)
            check_anthropic(body, self.issued)
        elif api == "chat":
            judge_chat(body, LONGEST_CHAT_ID)
            check_chat(body, self.issued)
        elif api == "responses":
            judge_responses(body)
            check_responses(body, self.issued)
        else:
            judge_contents(body, signed="gemini-3" in path)
            check_google(body, model_of(path), self.issued)
        return api

    def _told(self, api: str, path: str, body: Any, said: Said) -> "Reply":
        if said.trouble is not None and said.trouble != "cut":
            return trouble(api, said.trouble)
        if api == "google":
            answer = bodies.google(said, self.issued, body, model_of(path))
            live = path.endswith(":streamGenerateContent")
        else:
            answer = getattr(bodies, api)(said, self.issued, body)
            live = body.get("stream") is True
        text = getattr(streams, api)(answer) if live else json.dumps(answer)
        kind = "text/event-stream" if live else "application/json"
        if said.trouble == "cut":
            return Reply(text[: len(text) // 2], kind, cut=True)
        return Reply(text, kind)


class Reply(NamedTuple):
    """What is sent; after one that is `cut` the connection is lost before its end."""

    text: str
    kind: str = "application/json"
    status: int = 200
    cut: bool = False


def trouble(api: str, kind: Trouble) -> Reply:
    if kind == "page":
        return Reply("<html><body>Sign in.</body></html>", "text/html")
    if kind == "nonsense":
        return Reply('{"greeting": "hello"}')
    status = {"overloaded": 503, "limited": 429}.get(kind, 400)
    message = TOO_LONG if kind == "too_long" else f"this is {kind}"
    error: dict[str, Any] = {"type": "invalid_request_error", "message": message}
    if api == "google":
        error |= {"code": status, "status": "INVALID_ARGUMENT"}
    return Reply(json.dumps({"type": "error", "error": error}), status=status)


def api_of(path: str) -> str:
    known = {"/v1/messages": "anthropic", "/v1/chat/completions": "chat", "/v1/responses": "responses"}
    return known.get(path, "google")


def model_of(path: str) -> str:
    """The model that a path of Google's API names."""
    return path.rpartition("/")[2].partition(":")[0]


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    async with listening(server.serve) as port:
        server.port = port
        yield server
