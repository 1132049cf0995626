"""Desks: MCP servers for one test, each a child process with a log of what it was asked."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.agents import Agent
from activities.mcp.server import McpServer
from activities.mcp.servers import McpServers
from activities.providers.scripted import Script
from activities.shown import Shown
from activities.threads import Threads
from activities.tool_context import ToolContext
from tests import mcp_servers

SCRIPT = Path(mcp_servers.__file__).with_name("desk.py")


class Desk:
    """A declared server, an agent that has it, and the connections of one worker."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "desk.log"
        self.servers = McpServers(folder)
        self.threads = Threads(2)

    def server(self, name: str = "desk", *, mode: str = "", **options: Any) -> McpServer:
        env = {"DESK_LOG": str(self._log), "DESK_MODE": mode, "PYTHONWARNINGS": "ignore", **options.pop("env", {})}
        return McpServer(name, command=[sys.executable, str(SCRIPT)], env=env, **options)

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
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []

    @property
    def calls(self) -> list[str]:
        return [line for line in self.log if not line.startswith(("started", "list"))]

    @property
    def pids(self) -> list[int]:
        return [int(line.split()[1]) for line in self.log if line.startswith("started")]


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
