"""`surefoot tools`: what an agent's model could call, where each tool comes from, and who would be asked.

It connects to the agent's MCP servers itself, with the settings of this environment, and needs no Temporal server.
"""

from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from activities.agents import Agent
from activities.mcp.servers import Equipped
from activities.policy import Condition
from activities.tools.any_tool import AnyTool
from surefoot.cli import exits
from surefoot.cli.documents import emit
from surefoot.cli.mcp_servers import opened_servers
from surefoot.cli.output import say
from surefoot.cli.pages import print_table
from surefoot.cli.session import app_option, app_path, json_option, load, needs_app
from surefoot.settings import read_settings


@dataclass(frozen=True)
class Row:
    """One tool: `origin` is the app or a server, `approval` how people are asked, as far as somebody said so."""

    tool: str
    kind: str
    origin: str
    rule: str
    approval: dict[str, Any]
    description: str


@click.command()
@click.argument("agent")
@app_option
@json_option
def tools(agent: str, app: str | None, as_json: bool) -> None:
    """The tools of AGENT, also those of its MCP servers: kind, origin, rule and approval."""

    async def work() -> int:
        loaded = load(needs_app(read_settings(app=app_path(app))))
        named = loaded.agent(agent)
        async with opened_servers(loaded) as servers:
            equipped = await servers.equip(named)
        rows = [_row(equipped.agent, tool) for tool in equipped.agent.all_tools]
        emit([asdict(row) for row in rows]) if as_json else _print(rows)
        _say_what_lacks(equipped)
        return exits.FAILED if equipped.missing else exits.COMPLETE

    exits.run(work())


def _row(agent: Agent, tool: AnyTool) -> Row:
    asking = agent.asking(tool)
    return Row(
        tool=tool.name,
        kind=tool.kind,
        origin=tool.origin,
        rule=_rule(tool, agent.rules_for(tool)),
        approval={name: getattr(asking, name) for name in sorted(asking.model_fields_set)} if asking else {},
        description=tool.declaration().description,
    )


def _rule(tool: AnyTool, conditions: list[Condition]) -> str:
    """What policy says of the tool's calls, as far as that can be told without their arguments."""
    if conditions:
        return ", ".join(condition.in_words() for condition in conditions)
    return "ask" if tool.kind == "write" else "allow"


def _print(rows: list[Row]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("tool", "kind", "origin", "rule", "approval"):
        table.add_column(column, overflow="fold")
    for row in rows:
        approval = ", ".join(f"{name}={value!r}" for name, value in row.approval.items())
        table.add_row(*(Text(cell) for cell in (row.tool, row.kind, row.origin, row.rule, approval)))
    print_table(table)


def _say_what_lacks(equipped: Equipped) -> None:
    for server, tools in equipped.left_out.items():
        for name, why in tools.items():
            say(f"{server}: its tool {name} is left out: {why}")
    for server, why in equipped.missing.items():
        say(f"{server} can't be reached, so its tools are missing: {why}")
