"""McpServer and Env: what can't be used is refused when the app file is loaded, with what to write instead."""

from typing import Any

import pytest

from activities.agents import Agent
from activities.approval import Approval
from activities.errors import DefinitionError
from activities.mcp.server import Env, McpServer
from activities.providers.scripted import Script

HI = Script([{"text": "hi"}])


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("git hub", {"command": ["x"]}, "MCP server 'git hub': its name has 1 to 32 letters"),
        ("desk", {}, "needs command=[…] (a child process) or url=… (HTTP): exactly one of the two"),
        ("desk", {"command": ["x"], "url": "http://x"}, "exactly one of the two"),
        ("desk", {"command": "npx x"}, "has command='npx x'. Give a list of words"),
        ("desk", {"command": []}, "has command=[]. Give a list of words"),
        ("desk", {"url": "desk.example"}, "has url='desk.example'. Give an address with http:// or https://."),
        ("desk", {"url": "http://me:pw@x"}, "has a name or password in its url"),
        ("desk", {"command": ["x"], "headers": {"a": "b"}}, "has headers, but is no HTTP server"),
        ("desk", {"url": "http://x", "env": {"a": "b"}}, "has env, but is reached by HTTP"),
        (
            "desk",
            {"url": "http://x", "headers": {"Authorization": "Bearer t"}},
            "has the header Authorization in plain",
        ),
        ("desk", {"command": ["x"], "env": {"A": 1}}, "has 'A' in env, with a value of type int"),
        ("desk", {"command": ["x"], "timeout": 0}, "has timeout=0. Give a positive number of seconds."),
        ("desk", {"command": ["x"], "read_only": "add"}, "has read_only='add'. Give a list of names or patterns"),
        ("desk", {"command": ["x"], "approval": "two"}, "has approval='two'"),
    ],
)
def test_a_server_that_can_not_be_used_is_refused_with_the_remedy(
    name: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        McpServer(name, **options)

    assert said in str(refused.value)
    assert "Bearer t" not in str(refused.value)
    assert "pw@" not in str(refused.value)


def test_env_names_a_variable() -> None:
    with pytest.raises(DefinitionError, match="give the name of an environment variable, not its value"):
        Env("ghp token")

    assert Env("TOKEN", prefix="Bearer ").read({"TOKEN": "x"}) == "Bearer x"
    assert Env("TOKEN").read({"TOKEN": ""}) is None


@pytest.mark.parametrize("names", [("git", "git"), ("git", "git_hub")])
def test_servers_whose_tools_could_be_mixed_up_are_refused(names: tuple[str, str]) -> None:
    servers = [McpServer(name, command=["x"]) for name in names]

    with pytest.raises(DefinitionError, match="could be of either"):
        Agent("clerk", HI, mcp=servers)


def test_without_the_package_an_agent_with_servers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(DefinitionError, match=r"the package mcp is not installed: pip install 'surefoot\[mcp\]'"):
        Agent("clerk", HI, mcp=[McpServer("desk", command=["x"])])


def test_servers_are_given_as_a_list() -> None:
    with pytest.raises(DefinitionError, match="Give a list: mcp="):
        Agent("clerk", HI, mcp=McpServer("desk", command=["x"]))  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="among its MCP servers"):
        Agent("clerk", HI, mcp=["desk"])  # type: ignore[list-item]


def test_policies_and_approvals_may_name_tools_of_a_server_that_nobody_has_seen_yet() -> None:
    server = McpServer("desk", command=["x"])

    agent = Agent("clerk", HI, mcp=[server], policy={"desk_add": "allow"}, approval={"desk_*": Approval(quorum=2)})

    assert "desk_add" in agent.rules
    with pytest.raises(DefinitionError, match="but no tool of that name"):
        Agent("clerk", HI, mcp=[server], policy={"dask_add": "allow"})


def test_a_job_gets_the_time_that_a_server_may_take_to_start() -> None:
    server = McpServer("desk", command=["x"], timeout=30)

    assert Agent("clerk", HI, mcp=[server], model_timeout=100).spec().model_seconds == 130
