"""An MCP server as an app file declares it: how to reach it, and how far its word on its own tools is trusted.

It is a value: nothing is started, read from the environment or connected when an app file makes one.
"""

import importlib.util
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from activities.approval import Approval, checked
from activities.errors import DefinitionError

NAME = re.compile(r"[a-zA-Z0-9_-]{1,32}")
SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie", "x-api-key")


@dataclass(frozen=True)
class Env:
    """A value that the worker takes from its environment: only its name is in the app file, and in errors.

    `prefix` stands before it: `Env("GITHUB_TOKEN", prefix="Bearer ")`.
    """

    name: str
    prefix: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name):
            raise DefinitionError(f"Env({self.name!r}): give the name of an environment variable, not its value.")

    def read(self, environment: Mapping[str, str] = os.environ) -> str | None:
        value = environment.get(self.name)
        return None if not value else self.prefix + value


class McpServer:
    """A Model Context Protocol server, whose tools an agent may use: `Agent(…, mcp=[McpServer(…)])`.

    command     starts it as a child of the worker (stdio), in the app file's folder: ["npx", "-y", "…"]
    env         environment of the child, beside a few harmless variables such as PATH: names to texts or Env("NAME")
    url         or: where it is reached by streamable HTTP
    headers     sent with every request; secrets as Env("NAME")
    trusted     whether its hints count: readOnlyHint, idempotentHint, destructiveHint
    read_only   patterns of its tools that change nothing, by your own word; all others are writes, which ask
    tools       patterns of its tools that the agent gets; all if not given
    timeout     seconds for its start, for each list of its tools, and for each call
    approval    who decides on its tools' calls, and by when
    """

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str] | None = None,
        env: Mapping[str, str | Env] | None = None,
        url: str | Env | None = None,
        headers: Mapping[str, str | Env] | None = None,
        trusted: bool = False,
        read_only: Sequence[str] = (),
        tools: Sequence[str] | None = None,
        timeout: float = 60.0,
        approval: Approval | None = None,
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DefinitionError(f"MCP server {name!r}: its name has 1 to 32 letters, digits, '_' or '-', no others.")
        where = f"MCP server {name!r}"
        _check_way(where, command, env, url, headers)
        self.name = name
        self.command = tuple(command or ())
        self.env = _values(where, "env", env or {})
        self.url = url
        self.headers = _values(where, "headers", headers or {})
        _check_secrets(where, self.headers)
        self.trusted = trusted
        self.read_only = _patterns(where, "read_only", read_only)
        self.wanted = None if tools is None else _patterns(where, "tools", tools)
        self.timeout = _seconds(where, timeout)
        self.asking = checked(approval, where)

    def __repr__(self) -> str:
        return f"<McpServer {self.name}>"

    @property
    def prefix(self) -> str:
        """What the names of its tools begin with, as models and policies know them."""
        return f"{self.name}_"

    def wants(self, tool: str) -> bool:
        return self.wanted is None or any(fnmatchcase(tool, pattern) for pattern in self.wanted)

    def reads(self, tool: str) -> bool:
        """Whether the app file itself says that this tool changes nothing."""
        return any(fnmatchcase(tool, pattern) for pattern in self.read_only)

    def secrets(self) -> list[Env]:
        """All that it needs of the worker's environment."""
        given = [self.url, *self.env.values(), *self.headers.values()]
        return [value for value in given if isinstance(value, Env)]


def checked_servers(where: str, servers: Sequence[Any]) -> tuple[McpServer, ...]:
    """The servers of an agent. Raises `DefinitionError` for what is none, and for names that could be mixed up."""
    if isinstance(servers, McpServer) or not isinstance(servers, Sequence) or isinstance(servers, str):
        raise DefinitionError(f"{where} has mcp={servers!r}. Give a list: mcp=[McpServer('name', command=[…])].")
    for server in servers:
        if not isinstance(server, McpServer):
            raise DefinitionError(
                f"{where} has {server!r} among its MCP servers. Write McpServer('name', command=[…])."
            )
    if servers and importlib.util.find_spec("mcp") is None:
        raise DefinitionError(
            f"{where} has MCP servers, but the package mcp is not installed: pip install 'surefoot[mcp]'"
        )
    for place, server in enumerate(servers):
        for other in servers[:place]:
            if server.prefix.startswith(other.prefix) or other.prefix.startswith(server.prefix):
                raise DefinitionError(
                    f"{where} has the MCP servers {other.name!r} and {server.name!r}: a tool named {server.prefix}… or"
                    f" {other.prefix}… could be of either. Rename one of them."
                )
    return tuple(servers)


def _check_way(where: str, command: object, env: object, url: object, headers: object) -> None:
    """Exactly one way to reach it, and nothing that belongs to the other."""
    if (command is None) == (url is None):
        raise DefinitionError(f"{where} needs command=[…] (a child process) or url=… (HTTP): exactly one of the two.")
    if url is None:
        words = (
            isinstance(command, list | tuple) and command and all(isinstance(word, str) and word for word in command)
        )
        if not words:
            raise DefinitionError(f"{where} has command={command!r}. Give a list of words: ['npx', '-y', '…'].")
        if headers:
            raise DefinitionError(f"{where} has headers, but is no HTTP server. Give env={{…}} instead.")
        return
    if env:
        raise DefinitionError(f"{where} has env, but is reached by HTTP. Give headers={{…}} instead.")
    if isinstance(url, Env):
        return
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DefinitionError(f"{where} has url={url!r}. Give an address with http:// or https://.")
    if parts.username or parts.password:
        raise DefinitionError(f"{where} has a name or password in its url. Give headers={{'Authorization': Env(…)}}.")


def _values(where: str, what: str, given: Mapping[str, str | Env]) -> dict[str, str | Env]:
    for name, value in given.items():
        if not isinstance(name, str) or not name or not isinstance(value, str | Env):
            raise DefinitionError(
                f"{where} has {name!r} in {what}, with a value of type {type(value).__name__}."
                " Give a text or Env('NAME')."
            )
    return dict(given)


def _check_secrets(where: str, headers: Mapping[str, str | Env]) -> None:
    for name, value in headers.items():
        if name.lower() in SECRET_HEADERS and not isinstance(value, Env):
            raise DefinitionError(
                f"{where} has the header {name} in plain text. Put its value into the worker's environment, and write"
                f" {name!r}: Env('NAME', prefix='Bearer ')."
            )


def _patterns(where: str, what: str, given: object) -> tuple[str, ...]:
    if isinstance(given, list | tuple) and all(isinstance(pattern, str) and pattern for pattern in given):
        return tuple(given)
    raise DefinitionError(f"{where} has {what}={given!r}. Give a list of names or patterns: ['issue_*'].")


def _seconds(where: str, timeout: object) -> float:
    if isinstance(timeout, int | float) and not isinstance(timeout, bool) and 0 < timeout < math.inf:
        return float(timeout)
    raise DefinitionError(f"{where} has timeout={timeout!r}. Give a positive number of seconds.")
