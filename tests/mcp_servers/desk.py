"""A server whose tools do all that a server may do: `desk.py` serves by stdio, `app()` over HTTP.

What it is asked to do is written to the file DESK_LOG, a line for each call. DESK_MODE makes it misbehave.
"""

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

Context = ServerRequestContext[Any]
PIXEL = base64.b64encode(b"a picture").decode()
ANY: dict[str, Any] = {"type": "object"}
TWO = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 0}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
HALF = "<half>"
"""Goes out as half a surrogate pair, escaped: servers in other languages write such."""

MODE = os.environ.get("DESK_MODE", "")


def log(line: str) -> None:
    if path := os.environ.get("DESK_LOG"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def text(*texts: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=each) for each in texts])


async def add(arguments: dict[str, Any]) -> types.CallToolResult:
    return text(str(arguments["a"] + arguments["b"]))


async def create(arguments: dict[str, Any]) -> types.CallToolResult:
    return text(f"created {arguments.get('title', '')}")


async def fail(_: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="the desk is closed")], is_error=True)


async def picture(_: dict[str, Any]) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(text="here:"), types.ImageContent(data=PIXEL, mime_type="image/png")]
    return types.CallToolResult(content=content)


async def parts(_: dict[str, Any]) -> types.CallToolResult:
    blob = types.BlobResourceContents(uri="desk://scan", mime_type="application/pdf", blob=PIXEL)
    note = types.TextResourceContents(uri="desk://note", mime_type="text/plain", text="a note")
    content: list[Any] = [
        types.AudioContent(data=PIXEL, mime_type="audio/wav"),
        types.ResourceLink(name="report", uri="desk://report", mime_type="text/csv", size=12),
        types.EmbeddedResource(resource=note),
        types.EmbeddedResource(resource=blob),
    ]
    return types.CallToolResult(content=content)


async def structured(_: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[], structured_content={"open": 2})


async def both(_: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text='{"open":2}')], structured_content={"open": 2})


async def big(_: dict[str, Any]) -> types.CallToolResult:
    return text("x" * 5_000_000)


async def odd(_: dict[str, Any]) -> types.CallToolResult:
    return text("NUL \0 and a line\u2028separator")


async def surrogate(_: dict[str, Any]) -> types.CallToolResult:
    return text(f"half {HALF} pair")


async def die(_: dict[str, Any]) -> types.CallToolResult:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


async def hang(_: dict[str, Any]) -> types.CallToolResult:
    await asyncio.Event().wait()
    raise AssertionError


async def refuse(_: dict[str, Any]) -> types.CallToolResult:
    raise MCPError(types.INVALID_PARAMS, "no such issue")


async def leak(_: dict[str, Any]) -> types.CallToolResult:
    sys.stderr.write(f"my token is {os.environ.get('DESK_TOKEN')}\n")
    return text(f"token {os.environ.get('DESK_TOKEN')}")


async def environment(_: dict[str, Any]) -> types.CallToolResult:
    return text(json.dumps(sorted(os.environ)))


Handler = Callable[[dict[str, Any]], Awaitable[types.CallToolResult]]
READS = types.ToolAnnotations(read_only_hint=True)
TOOLS: dict[str, tuple[Handler, dict[str, Any], types.ToolAnnotations | None]] = {
    "add": (add, TWO, READS),
    "issue.create": (create, ANY, None),
    "replace": (create, ANY, types.ToolAnnotations(idempotent_hint=True)),
    "remove": (create, ANY, types.ToolAnnotations(destructive_hint=True)),
    "fail": (fail, ANY, None),
    "picture": (picture, ANY, READS),
    "parts": (parts, ANY, READS),
    "structured": (structured, ANY, READS),
    "both": (both, ANY, READS),
    "big": (big, ANY, READS),
    "odd": (odd, ANY, READS),
    "surrogate": (surrogate, ANY, READS),
    "die": (die, ANY, None),
    "die_reading": (die, ANY, READS),
    "die_same": (die, ANY, types.ToolAnnotations(idempotent_hint=True)),
    "hang": (hang, ANY, None),
    "refuse": (refuse, ANY, READS),
    "leak": (leak, ANY, READS),
    "environment": (environment, ANY, READS),
    "bad_schema": (fail, {"type": "object", "properties": {"$filter": {"type": "string"}}}, None),
}
added: list[types.Tool] = []
changes = InMemorySubscriptionBus()


def listed() -> list[types.Tool]:
    tools = [
        types.Tool(name=name, description=f"Does {name}.", input_schema=schema, annotations=hints)
        for name, (_, schema, hints) in TOOLS.items()
    ]
    grow = types.Tool(name="grow", description="Adds a tool.", input_schema=ANY)
    lie = types.Tool(
        name="lie",
        input_schema=ANY,
        output_schema={"type": "object", "properties": {"open": {"type": "string"}}, "required": ["open"]},
    )
    again = types.Tool(name="add", description="Is there twice.", input_schema=ANY)
    return [*tools, grow, lie, again, *added]


async def on_list(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    log("list")
    if MODE == "hang-list":
        await asyncio.Event().wait()
    tools = listed()
    start = int(params.cursor) if params is not None and params.cursor else 0
    end = start + 10
    return types.ListToolsResult(tools=tools[start:end], next_cursor=str(end) if end < len(tools) else None)


async def on_call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    key = (params.meta or {}).get("surefoot/idempotency-key")
    log(f"{params.name} {key}")
    if params.name == "grow":
        added.append(types.Tool(name="grown", description="Was not there before.", input_schema=ANY))
        await context.session.send_tool_list_changed()  # as servers did before 2026-07-28,
        await changes.publish(ToolsListChanged())  # and as they do since
        return text("grown")
    if params.name == "lie":
        return await structured(arguments)
    return await TOOLS[params.name][0](arguments)


def server() -> Server[Any]:
    listen = ListenHandler(changes)
    return Server("desk", on_list_tools=on_list, on_call_tool=on_call, on_subscriptions_listen=listen)


class Halving:
    """The server's stdout."""

    def __init__(self) -> None:
        self._file = anyio.wrap_file(TextIOWrapper(sys.stdout.buffer, encoding="utf-8"))

    async def write(self, line: str) -> None:
        if MODE == "chatty":
            await self._file.write("Hello, I am a desk.\n[1]\n")
        await self._file.write(line.replace(HALF, "\\ud800"))

    async def flush(self) -> None:
        await self._file.flush()


async def requests() -> AsyncIterator[str]:
    """The server's stdin. One of before 2026-07-28 does not know what newer clients ask first."""
    async for line in anyio.wrap_file(TextIOWrapper(sys.stdin.buffer, encoding="utf-8")):
        if MODE == "old" and "server/discover" in line:
            line = json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "method": "server/unknown"})
        yield line


async def main() -> None:
    log(f"started {os.getpid()}")
    if MODE == "hang-start":
        await asyncio.Event().wait()
    desk = server()
    async with stdio_server(cast(Any, requests()), cast(Any, Halving())) as (read, write):
        await desk.run(read, write, desk.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
