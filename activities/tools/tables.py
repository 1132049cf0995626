"""What an agent says of its tools by their names or by patterns: policies and approvals.

A pattern (with `*`, `?` or `[`) may fit no tool, so that one table can serve several agents; a plain name may not,
unless it is one that a tool of an MCP server may have.
"""

import difflib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from activities.approval import Approval, checked
from activities.errors import DefinitionError
from activities.mcp.server import McpServer
from activities.policy import Condition, Rule, as_rules
from activities.tools.any_tool import AnyTool
from workflows.contracts import Asking


def rules_of(
    where: str,
    policy: Mapping[str, Rule | Sequence[Rule]],
    tools: Sequence[AnyTool],
    servers: Sequence[McpServer],
) -> dict[str, tuple[Condition, ...]]:
    """The rules by key, each fit for every tool that its key names. Raises `DefinitionError`."""
    rules = {key: as_rules(given, f"{where}, policy[{key!r}]") for key, given in policy.items()}
    for key, conditions in rules.items():
        for tool in _meant(f"{where} has a policy", key, tools, servers):
            for condition in conditions:
                condition.check(tool.arguments.names, f"{where}, policy[{key!r}], tool {tool.name!r}")
    return rules


def askings_of(
    where: str, approval: Mapping[str, Approval], tools: Sequence[AnyTool], servers: Sequence[McpServer]
) -> dict[str, Asking]:
    """How calls are put to people, by key. Raises `DefinitionError`."""
    found: dict[str, Asking] = {}
    for key, given in approval.items():
        _meant(f"{where} has an approval", key, tools, servers)
        if (asking := checked(given, f"{where}, approval[{key!r}]")) is not None:
            found[key] = asking
    return found


def _meant(what: str, key: str, tools: Sequence[AnyTool], servers: Sequence[McpServer]) -> list[AnyTool]:
    """The tools of the app itself that a key names; what servers bring is not known yet. Raises `DefinitionError`."""
    meant = [tool for tool in tools if fnmatchcase(tool.name, key)]
    of_a_server = any(key.startswith(server.prefix) for server in servers)
    if not meant and not of_a_server and not any(mark in key for mark in "*?["):
        names = [tool.name for tool in tools]
        near = difflib.get_close_matches(key, names, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Its tools are {', '.join(names) or '(none)'}."
        raise DefinitionError(f"{what} for {key!r}, but no tool of that name. {hint}")
    return meant
