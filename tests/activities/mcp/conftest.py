"""Desks: MCP servers for one test, each a child process with a log of what it was asked."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.agents import Agent
from activities.mcp.server import McpServer
from activities.mcp.servers import McpServers
from activities.providers.scripted import Script
from activities.threads import Threads
from activities.tools.context import ToolContext
from activities.tools.shown import Shown
from tests.mcp_servers import declared


class Desk:
    """A declared server, an agent that has it, and the connections of one worker."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "desk.log"
        self.servers = McpServers(folder)
        self.threads = Threads(2)

    def server(self, name: str = "desk", **options: Any) -> McpServer:
        return declared.desk(self._log, name, **options)

    def agent(self, *servers: McpServer, **options: Any) -> Agent:
        return Agent("clerk", Script([{"text": "hi"}]), mcp=servers or [self.server()], **options)

    async def call(self, agent: Agent, tool: str, **arguments: Any) -> Shown:
        equipped = (await self.servers.equip_for(agent, tool)).agent
        found = equipped.find_tool(tool)
        assert found is not None
        output: Shown = await found.call(ToolContext.for_testing(job="job-1"), found.validate(arguments), self.threads)
        return output

    @property
    def log(self) -> list[str]:
        return declared.lines(self._log)

    @property
    def calls(self) -> list[str]:
        return declared.calls(self._log)

    @property
    def pids(self) -> list[int]:
        return declared.pids(self._log)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    await desk.servers.close()
    desk.threads.shutdown()
