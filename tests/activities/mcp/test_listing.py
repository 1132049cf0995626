"""The tools that a server brings to an agent: their names, their kinds, and when they are listed anew."""

import pytest

from activities.agents import Agent
from activities.approval import Approval
from activities.mcp import link
from activities.mcp.tool import McpTool
from activities.tools.tool import tool
from tests.activities.mcp.conftest import Desk
from tests.waiting import until


async def tools(desk: Desk, agent: Agent) -> dict[str, McpTool]:
    equipped = (await desk.servers.equip(agent)).agent
    return {each.name: each for each in equipped.all_tools if isinstance(each, McpTool)}


async def test_all_pages_are_listed_with_names_that_every_provider_takes(desk: Desk) -> None:
    found = await tools(desk, desk.agent())

    assert list(found)[:3] == ["desk_add", "desk_issue_create_c3b580", "desk_replace"]
    assert found["desk_add"].description == "Does add."
    assert "desk_grow" in found


async def test_a_schema_is_passed_on_as_it_is(desk: Desk) -> None:
    declared = (await tools(desk, desk.agent()))["desk_add"].declaration()

    assert declared.schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 0}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }


async def test_a_tool_that_no_provider_could_be_told_of_is_left_out_with_the_reason(desk: Desk) -> None:
    equipped = await desk.servers.equip(desk.agent())

    assert equipped.left_out == {
        "desk": {
            "bad_schema": "it has an argument '$filter', a name that not every provider accepts",
            "add": "it is listed twice; the first of that name is used",
        }
    }
    assert equipped.agent.find_tool("desk_bad_schema") is None


async def test_only_the_tools_that_are_wanted_are_there(desk: Desk) -> None:
    found = await tools(desk, desk.agent(desk.server(tools=["issue.*", "add"])))

    assert list(found) == ["desk_add", "desk_issue_create_c3b580"]


async def test_every_tool_of_a_server_that_is_not_trusted_is_a_write_whatever_it_says(desk: Desk) -> None:
    found = await tools(desk, desk.agent())

    assert {each.kind for each in found.values()} == {"write"}
    assert [name for name, each in found.items() if each.may_run_again or each.retries] == []
    assert {each.asking for each in found.values()} == {None}


async def test_the_hints_of_a_trusted_server_count(desk: Desk) -> None:
    found = await tools(desk, desk.agent(desk.server(trusted=True)))

    assert found["desk_add"].kind == "read"
    assert found["desk_issue_create_c3b580"].kind == "write"
    assert (found["desk_replace"].kind, found["desk_replace"].idempotent, found["desk_replace"].retries) == (
        "write",
        True,
        2,
    )
    removing = found["desk_remove"].asking
    assert removing is not None
    assert removing.risk == "high"


async def test_the_app_file_says_what_only_reads_and_how_people_are_asked(desk: Desk) -> None:
    server = desk.server(read_only=["add"], trusted=True, approval=Approval(quorum=2))
    found = await tools(desk, desk.agent(server))
    removing = found["desk_remove"].asking

    assert found["desk_add"].kind == "read"
    assert removing is not None
    assert (removing.quorum, removing.risk) == (2, "high")


async def test_a_tool_of_the_app_keeps_its_name_and_the_servers_gets_a_mark(desk: Desk) -> None:
    @tool(name="desk_add", read_only=True)
    def own(a: int) -> int:
        """Its own."""
        return a

    equipped = (await desk.servers.equip(desk.agent(tools=[own]))).agent
    names = [each.name for each in equipped.all_tools]

    assert equipped.find_tool("desk_add") is own
    assert names[:2] == ["desk_add", "desk_add_7e9e5a"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mode", ["old", "new"])
async def test_a_list_that_has_changed_is_fetched_anew(desk: Desk, mode: str) -> None:
    agent = desk.agent(desk.server(mode=mode))
    before = await tools(desk, agent)
    await desk.call(agent, "desk_grow")

    async def names() -> set[str]:
        return set(await tools(desk, agent))

    after = await until(names, lambda names: "desk_grown" in names)

    assert after - set(before) == {"desk_grown"}


async def test_a_list_is_fetched_anew_when_it_is_old(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LISTED_SECONDS", 0.0)
    await tools(desk, desk.agent())
    first = desk.log.count("list")

    await tools(desk, desk.agent())

    assert first == 3
    assert desk.log.count("list") == 2 * first
