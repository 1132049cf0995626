"""The MCP servers of an app, opened for a command that looks at them: what a worker would log, the command says."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from activities.apps import App
from activities.mcp.servers import McpServers


@asynccontextmanager
async def opened_servers(app: App) -> AsyncIterator[McpServers]:
    """Connected to at first use, closed at the end."""
    logging.getLogger("surefoot.mcp").setLevel(logging.CRITICAL)
    servers = McpServers(app.folder)
    try:
        yield servers
    finally:
        await servers.close()
