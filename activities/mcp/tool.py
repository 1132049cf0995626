"""One tool of an MCP server, as an agent has it: what `activities.tools.tool.Tool` is for a function.

A server says of itself what its tools do, so its hints count only if the app file trusts it: a tool that is wrongly
taken for a write asks a person too often, one that is wrongly taken for a read changes something without asking.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from activities.mcp.arguments import McpArguments
from activities.mcp.server import McpServer
from activities.policy import Condition
from activities.providers.protocol import ToolDeclaration
from activities.threads import Threads
from activities.tools.context import ToolContext
from activities.tools.explain import cut
from activities.tools.shown import Shown
from activities.tools.tool import DEFAULT_RETRIES
from workflows.contracts import Asking, JsonObject

DESCRIPTION_CHARS = 4_000
OUTPUT_CHARS = 40_000

Call = Callable[[McpServer, str, Mapping[str, Any], str], Awaitable[Shown]]
"""Calls a server's tool by the server's own name of it, with arguments and an idempotency key."""


class McpTool:
    """`listed` is the tool as its server lists it (`mcp.Tool`). Raises `UnusableSchema`."""

    repeatable = False
    has_preview = False
    pure = False
    max_output_chars = OUTPUT_CHARS
    rules: tuple[Condition, ...] = ()

    def __init__(self, server: McpServer, name: str, listed: Any, call: Call) -> None:
        self.server, self.name, self.own_name = server, name, listed.name
        self.origin = f"mcp {server.name}"
        self.timeout = server.timeout
        self.description = cut(listed.description or listed.title or "", DESCRIPTION_CHARS)
        self.arguments = McpArguments(name, listed.input_schema)
        hints = listed.annotations if server.trusted else None
        self.read_only = server.reads(listed.name) or bool(hints and hints.read_only_hint)
        self.idempotent = not self.read_only and bool(hints and hints.idempotent_hint)
        self.retries = DEFAULT_RETRIES if self.may_run_again else 0
        destructive = not self.read_only and bool(hints and hints.destructive_hint)
        self.asking = _asking(server.asking, destructive)
        self._call = call

    def __repr__(self) -> str:
        return f"<McpTool {self.name} ({self.kind})>"

    @property
    def kind(self) -> Literal["read", "write"]:
        return "read" if self.read_only else "write"

    @property
    def may_run_again(self) -> bool:
        return self.read_only or self.idempotent

    def declaration(self) -> ToolDeclaration:
        return ToolDeclaration(name=self.name, description=self.description, schema=self.arguments.schema)

    def validate(self, arguments: JsonObject) -> dict[str, Any]:
        return self.arguments.validate(arguments)

    def preview(self, _validated: Mapping[str, Any]) -> str | None:
        return None

    async def call(self, context: ToolContext, validated: Mapping[str, Any], _threads: Threads) -> Shown:
        return await self._call(self.server, self.own_name, validated, context.idempotency_key)


def _asking(given: Asking | None, destructive: bool) -> Asking | None:
    """How its calls are put to people; a destructive one is of high risk unless the app file says otherwise."""
    if not destructive or (given is not None and "risk" in given.model_fields_set):
        return given
    fields = {name: getattr(given, name) for name in given.model_fields_set} if given is not None else {}
    return Asking(**fields, risk="high")
