"""The MCP servers of one worker process, and the agents with the tools that these bring.

Connections live on an event loop of their own, in one thread: to read a large answer, or to check it, takes seconds in
which no other job of the worker could show a sign of life.
"""

import asyncio
import importlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from activities.agents import Agent
from activities.mcp.fate import Unreachable
from activities.mcp.server import McpServer
from activities.mcp.tool import McpTool
from activities.threads import LoopThread
from activities.tools.explain import first_line
from activities.tools.shown import Shown

if TYPE_CHECKING:
    from activities.mcp.link import Link

log = logging.getLogger("surefoot.mcp")
READY_SECONDS = 20.0
"""How long one attempt of a call waits for its server: the slack that its time limit leaves beside the call itself."""

CLOSING_SECONDS = 8.0


@dataclass(frozen=True)
class Equipped:
    """An agent with the tools that its servers have now. `missing`: servers that can't be reached, and why."""

    agent: Agent
    missing: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class McpServers:
    """Each server's link, opened at its first use. `folder` is where commands run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[McpServer, Link] = {}
        self._thread = LoopThread("mcp-loop")

    async def equip(self, agent: Agent) -> Equipped:
        """The agent with all tools that can be had. Waits for each server as long as that may take to start."""
        return await self._equipped(agent, agent.mcp) if agent.mcp else Equipped(agent)

    async def equip_for(self, agent: Agent, tool: str) -> Equipped:
        """The agent with the tools of the server that this tool is of, if it is of any: ready to be called."""
        servers = [server for server in agent.mcp if tool.startswith(server.prefix)]
        if not servers or agent.tool(tool) is not None:
            return Equipped(agent)
        try:
            async with asyncio.timeout(READY_SECONDS):
                return await self._equipped(agent, servers)
        except TimeoutError:
            return Equipped(agent, {servers[0].name: f"it did not answer within {READY_SECONDS:g} seconds"})

    async def _equipped(self, agent: Agent, servers: Sequence[McpServer]) -> Equipped:
        await asyncio.to_thread(importlib.import_module, "activities.mcp.link")  # a second, the first time
        result: Equipped = await self._thread.run(partial(self._on_loop, agent, servers))
        return result

    async def _on_loop(self, agent: Agent, servers: Sequence[McpServer]) -> Equipped:
        own = {tool.name for tool in agent.tools}
        answers = await asyncio.gather(
            *(self._link(server).tools(self._call, own) for server in servers), return_exceptions=True
        )
        tools: list[McpTool] = []
        missing: dict[str, str] = {}
        left_out: dict[str, Mapping[str, str]] = {}
        for server, answer in zip(servers, answers, strict=True):
            if isinstance(answer, Unreachable):
                missing[server.name] = str(answer)
            elif isinstance(answer, BaseException):
                log.error("the tools of %s can't be read", server.name, exc_info=answer)
                missing[server.name] = first_line(answer)
            else:
                tools += answer[0]
                if answer[1]:
                    left_out[server.name] = answer[1]
        return Equipped(agent.equipped(tools, tuple(missing)), missing, left_out)

    async def _call(self, server: McpServer, tool: str, arguments: Mapping[str, Any], key: str) -> Shown:
        output: Shown = await self._thread.run(partial(self._link(server).call, tool, arguments, key))
        return output

    def _link(self, server: McpServer) -> "Link":
        if server not in self._links:
            from activities.mcp.link import Link

            self._links[server] = Link(server, self._folder)
        return self._links[server]

    async def close(self) -> None:
        """Close every session; child processes get a moment to end, and are killed then."""
        if self._links:
            links = list(self._links.values())
            await asyncio.wait(
                [asyncio.create_task(self._thread.run(partial(_close_all, links)))], timeout=CLOSING_SECONDS
            )
        self._thread.stop(wait=False)


async def _close_all(links: "Sequence[Link]") -> None:
    await asyncio.gather(*(link.close() for link in links), return_exceptions=True)
