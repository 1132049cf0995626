"""Agents with an MCP server, a child of the worker: one that does not answer a call, one that never even starts."""

import os
from pathlib import Path

from surefoot import Agent, Script
from tests.mcp_servers.declared import desk

LOG = Path(os.environ["CRASH_FOLDER"]) / "desk.log"

caller = Agent(
    "caller",
    Script([{"calls": [{"tool": "desk_hang", "arguments": {}}]}, {"text": "done", "repeat": True}]),
    mcp=[desk(LOG)],
    policy={"desk_hang": "allow"},
)

opener = Agent("opener", Script([{"text": "done"}]), mcp=[desk(LOG, mode="hang-start")])
