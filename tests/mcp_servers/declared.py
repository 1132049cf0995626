"""The desk as agents of tests declare it: a child process with a log of what it was asked."""

import sys
from pathlib import Path
from typing import Any

from activities.mcp.server import McpServer

SCRIPT = Path(__file__).with_name("desk.py")


def desk(log: Path, name: str = "desk", *, mode: str = "", **options: Any) -> McpServer:
    """`options` are McpServer's own."""
    env = {"DESK_LOG": str(log), "DESK_MODE": mode, "PYTHONWARNINGS": "ignore", **options.pop("env", {})}
    return McpServer(name, command=[sys.executable, str(SCRIPT)], env=env, **options)


def lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def calls(log: Path) -> list[str]:
    """The tools that were called, in order."""
    return [line.split()[0] for line in lines(log) if not line.startswith(("started", "list"))]


def pids(log: Path) -> list[int]:
    """Of each process that was started."""
    return [int(line.split()[1]) for line in lines(log) if line.startswith("started")]
