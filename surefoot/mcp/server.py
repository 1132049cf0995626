"""The MCP server itself: which tools there are, with which hints, and errors as results that a model can act on."""

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import ValidationError
from pydantic_core import to_json
from temporalio.service import RPCError

from surefoot.client import Client
from surefoot.errors import SurefootError
from surefoot.mcp.tools import Deciding, Document, Reading, Working
from workflows.faults import faults_of

INSTRUCTIONS = (
    "Surefoot runs AI agents as durable jobs. start_job returns at once; follow a job with job_status. A job that is"
    " waiting needs a person's decision, which is not yours to make unless that person told you so."
)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WORKS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
STOPS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
DECIDES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)


class _Server(MCPServer):
    """Tells a program of arguments that its tool can't take as Surefoot tells everybody."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            told = f"{name} was not called: {faults_of(error.__cause__, 'the arguments')}"
            raise ToolError(told) from error.__cause__


def create_server(
    client: Client, *, by: str, roles: Sequence[str] = (), decides: bool = False, agents: Sequence[str] = ()
) -> MCPServer:
    """A server for one client's jobs. Only if it `decides` are there tools to decide with, in the name of `by`.

    Its client is told which `agents` there are, where that is known: jobs of others are refused.
    """
    known = f" The agents are: {', '.join(sorted(agents))}." if agents else ""
    server = _Server("surefoot", instructions=INSTRUCTIONS + known, log_level="WARNING")
    reading, working = Reading(client), Working(client, by, agents)
    for read in (reading.job_status, reading.job_transcript, reading.list_jobs, reading.list_inbox):
        _add(server, read, READS)
    for work in (working.start_job, working.reply):
        _add(server, work, WORKS)
    _add(server, working.stop, STOPS)
    if decides:
        deciding = Deciding(client, by, tuple(roles))
        for decide in (deciding.approve, deciding.deny, deciding.answer):
            _add(server, decide, DECIDES)
    return server


def _add(server: MCPServer, tool: Callable[..., Awaitable[Document]], hints: ToolAnnotations) -> None:
    @functools.wraps(tool)
    async def told(**arguments: Any) -> CallToolResult:
        try:
            document = await tool(**arguments)
        except SurefootError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        except RPCError as error:
            text = f"the Temporal server said: {error.message}"
            return CallToolResult(content=[TextContent(text=text)], is_error=True)
        return CallToolResult(content=[TextContent(text=to_json(document).decode())], structured_content=document)

    server.add_tool(told, annotations=hints, structured_output=False)
