"""Whether an app's MCP servers can be reached from here, for `surefoot doctor`."""

from collections.abc import Iterator

from activities.apps import App
from activities.mcp.server import McpServer
from activities.mcp.servers import Equipped
from surefoot.cli.mcp_servers import opened_servers

WITHOUT = "jobs do without these tools until then"
Seen = tuple[str, bool, str, str]
"""What was looked at, whether all is well, what was seen, what to do."""


async def reached_servers(app: App) -> list[Seen]:
    """Each server of each agent, connected to and listed once."""
    found: dict[McpServer, list[Seen]] = {}
    async with opened_servers(app) as servers:
        for agent in app.agents.values():
            equipped = await servers.equip(agent)
            found |= {server: list(_seen(server, equipped)) for server in agent.mcp}
    return [each for seen in found.values() for each in seen]


def _seen(server: McpServer, equipped: Equipped) -> Iterator[Seen]:
    what = f"mcp server {server.name}"
    if trouble := equipped.missing.get(server.name):
        yield what, False, trouble, f"mend it where the worker runs; {WITHOUT}"
        return
    count = sum(tool.name.startswith(server.prefix) for tool in equipped.agent.all_tools)
    yield what, True, f"{count} tools", ""
    for tool, why in equipped.left_out.get(server.name, {}).items():
        remedy = f"mend it in the server, or name the others: tools=[…]; {WITHOUT}"
        yield f"{what}, {tool}", False, f"left out: {why}", remedy
