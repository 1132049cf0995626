"""`surefoot tools` and what `surefoot doctor` says of MCP servers."""

import json
import sys
from typing import Any

import pytest

from tests.cli.running import Ended, Place
from tests.mcp_servers.declared import SCRIPT

APP = f"""
from surefoot import Agent, Approval, Env, McpServer, deny_if, tool

@tool(policy=[deny_if(lambda amount: amount > 100, reason="it is too much")])
def pay(amount: int) -> str:
    "Pay."
    return "paid"

COMMAND = [{sys.executable!r}, {str(SCRIPT)!r}]
desk = McpServer("desk", command=COMMAND, tools=["add", "remove", "bad_schema"], trusted=True)
locked = McpServer("locked", command=COMMAND, env={{"TOKEN": Env("LOCKED_TOKEN")}})

clerk = Agent("clerk", "scripted:shop.json", tools=[pay], mcp=[desk], policy={{"desk_add": "ask"}},
              approval={{"pay": Approval(quorum=2)}})
guard = Agent("guard", "scripted:shop.json", mcp=[locked])
"""


@pytest.fixture
def clerks(place: Place) -> Place:
    """A place whose app has MCP servers; nothing was started in it."""
    (place.folder / "clerks.py").write_text(APP)
    place.environment["SUREFOOT_APP"] = str(place.folder / "clerks.py")
    return place


def test_the_tools_of_an_agent_with_kind_origin_rule_and_approval(clerks: Place) -> None:
    ended = clerks.run("tools", "clerk", "--json")
    rows: dict[str, dict[str, Any]] = {row["tool"]: row for row in json.loads(ended.out)}

    assert ended.code == 0
    assert {name: (row["kind"], row["origin"], row["rule"]) for name, row in rows.items()} == {
        "pay": ("write", "app", "deny if it is too much"),
        "desk_add": ("read", "mcp desk", "ask"),
        "desk_remove": ("write", "mcp desk", "ask"),
    }
    assert rows["pay"]["approval"] == {"quorum": 2}
    assert rows["desk_remove"]["approval"] == {"risk": "high"}
    assert rows["desk_add"]["description"] == "Does add."
    assert "desk: its tool bad_schema is left out: it has an argument '$filter'" in ended.err


def test_the_page_is_a_table(clerks: Place) -> None:
    lines = clerks.run("tools", "clerk").out.splitlines()

    assert [line.split()[0] for line in lines] == ["tool", "pay", "desk_add", "desk_remove"]
    assert "risk='high'" in lines[3]


def test_a_server_that_can_not_be_reached_is_said_and_the_command_fails(clerks: Place) -> None:
    ended = clerks.run("tools", "guard", "--json")

    assert (ended.code, json.loads(ended.out), len(ended.err.splitlines())) == (1, [], 1)
    assert (
        "locked can't be reached, so its tools are missing: LOCKED_TOKEN is not set where the worker runs" in ended.err
    )


def findings(ended: Ended) -> dict[str, dict[str, Any]]:
    return {each["what"]: each for each in json.loads(ended.out)}


@pytest.mark.server
def test_doctor_connects_to_each_server_and_says_what_is_wrong(clerks: Place) -> None:
    found = findings(clerks.run("doctor", "--json"))

    assert (found["mcp server desk"]["ok"], found["mcp server desk"]["seen"]) == (True, "2 tools")
    assert found["mcp server desk, bad_schema"]["ok"] is False
    assert found["mcp server locked"] == {
        "what": "mcp server locked",
        "ok": False,
        "seen": "LOCKED_TOKEN is not set where the worker runs: export LOCKED_TOKEN=… there",
        "remedy": "mend it where the worker runs; jobs do without these tools until then",
    }
