"""MCP servers over streamable HTTP: sessions that are forgotten, servers that are away, refuse or break off."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from activities.errors import ToolError
from activities.mcp import link
from activities.mcp.fate import EndUnseen, Unreachable
from activities.mcp.server import Env, McpServer
from tests.activities.mcp.conftest import Desk
from tests.mcp_servers import desk as served
from tests.waiting import until


@asynccontextmanager
async def serving(app: ASGIApp, port: int = 0) -> AsyncIterator[int]:
    """An ASGI application on a port of the loopback."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, ws="none")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listening]))

        async def started() -> bool:
            return server.started

        await until(started)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await running


class Counting:
    """A desk behind something that counts its tool calls, and may answer in its place."""

    def __init__(self) -> None:
        self.tokens: list[str | None] = []
        self.calls = 0
        self.instead: Callable[[Request], Response] | None = None
        self.break_off = False
        self._app = served.server().streamable_http_app()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        self.tokens.append(request.headers.get("authorization"))
        is_call = b'"tools/call"' in body
        self.calls += is_call
        if self.instead is not None and is_call:
            await self.instead(request)(scope, receive, send)
            return
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def cut(message: Message) -> None:
            if is_call and self.break_off:
                raise ConnectionResetError
            await send(message)

        await self._app(scope, again, cut)


def server(port: int, **options: Any) -> McpServer:
    return McpServer("desk", url=f"http://127.0.0.1:{port}/mcp", **options)


async def test_a_call_over_http(desk: Desk) -> None:
    async with serving(Counting()) as port:
        output = await desk.call(desk.agent(server(port)), "desk_add", a=2, b=3)

        assert output.text == "5"
        await desk.servers.close()


async def test_five_megabytes_come_through(desk: Desk) -> None:
    async with serving(Counting()) as port:
        output = await desk.call(desk.agent(server(port)), "desk_big")

        assert len(output.text) == 5_000_000
        await desk.servers.close()


async def test_a_secret_goes_into_the_header_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_SECRET", "sesame-open")
    counting = Counting()
    async with serving(counting) as port:
        headers = {"Authorization": Env("DESK_SECRET", prefix="Bearer ")}
        await desk.call(desk.agent(server(port, headers=headers)), "desk_add", a=2, b=3)
        await desk.servers.close()

    assert set(counting.tokens) == {"Bearer sesame-open"}


async def test_an_address_that_is_a_secret_is_not_in_the_log(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Counting()) as port:
        monkeypatch.setenv("DESK_URL", f"http://127.0.0.1:{port}/mcp")
        with caplog.at_level("DEBUG"):
            output = await desk.call(desk.agent(McpServer("desk", url=Env("DESK_URL"))), "desk_add", a=2, b=3)
            await desk.servers.close()

    said = [record.getMessage() for record in caplog.records if record.name == "httpx2"]
    assert output.text == "5"
    assert any("(DESK_URL)" in message for message in said)
    assert f"{port}/mcp" not in caplog.text


async def test_nothing_that_listens_is_said_with_what_to_do(desk: Desk) -> None:
    async with serving(Counting()) as port:
        pass

    equipped = await desk.servers.equip(desk.agent(server(port)))

    assert equipped.missing["desk"].startswith("nothing answers at its url (")
    assert equipped.missing["desk"].endswith("): start it, or mend the url")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "it answered HTTP 401: check its headers, and the secrets that they name"),
        (404, "it answered HTTP 404: check its url"),
        (500, "it answered HTTP 500: check its url"),
    ],
)
async def test_a_server_that_refuses_is_missing_with_its_status(desk: Desk, status: int, said: str) -> None:
    async with serving(PlainTextResponse("no", status)) as port:
        equipped = await desk.servers.equip(desk.agent(server(port)))

    assert equipped.missing == {"desk": said}


async def test_a_server_that_was_started_anew_is_called_once_on_a_new_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.01)
    first, second = Counting(), Counting()
    async with serving(first) as port:
        agent = desk.agent(server(port))
        await desk.call(agent, "desk_add", a=1, b=1)
    async with serving(second, port):
        output = await desk.call(agent, "desk_add", a=1, b=2)
        await desk.servers.close()

    assert output.text == "3"
    assert (first.calls, second.calls) == (1, 1)


async def test_a_call_that_can_not_be_sent_is_told_so(desk: Desk) -> None:
    async with serving(Counting()) as port:
        agent = (await desk.servers.equip(desk.agent(server(port)))).agent
    found = agent.find_tool("desk_add")
    assert found is not None

    with pytest.raises(Unreachable, match="nothing answers at its url"):
        await desk.call(agent, "desk_add", a=1, b=1)


@pytest.mark.parametrize("status", [500, 502])
async def test_an_error_of_a_gateway_leaves_the_end_of_a_call_unseen(desk: Desk, status: int) -> None:
    counting = Counting()
    counting.instead = lambda _: PlainTextResponse("bad gateway", status)
    async with serving(counting) as port:
        agent = desk.agent(server(port))

        with pytest.raises(EndUnseen, match=f"HTTP {status}"):
            await desk.call(agent, "desk_add", a=1, b=1)
        await desk.servers.close()

    assert counting.calls == 1


async def test_a_call_that_is_refused_is_told_with_its_status(desk: Desk) -> None:
    counting = Counting()
    counting.instead = lambda _: PlainTextResponse("no", 403)
    async with serving(counting) as port:
        agent = desk.agent(server(port))

        with pytest.raises(ToolError, match="The server refused the call with HTTP 403"):
            await desk.call(agent, "desk_add", a=1, b=1)
        await desk.servers.close()

    assert counting.calls == 1


async def test_an_answer_that_breaks_off_leaves_the_end_of_a_call_unseen(desk: Desk) -> None:
    counting = Counting()
    async with serving(counting) as port:
        agent = desk.agent(server(port))
        await desk.call(agent, "desk_add", a=1, b=1)
        counting.break_off = True

        with pytest.raises(EndUnseen, match="the server went away during the call"):
            await desk.call(agent, "desk_add", a=1, b=1)
        await desk.servers.close()

    assert counting.calls == 2
