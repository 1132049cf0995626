"""`surefoot mcp`, driven by the official client: jobs over the protocol, and decisions only by an explicit word."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from tests.cli.running import SUREFOOT, Place

pytestmark = pytest.mark.server

READS = ["job_status", "job_transcript", "list_jobs", "list_inbox"]
WORKS = ["start_job", "reply", "stop"]
DECIDES = ["approve", "deny", "answer"]


@asynccontextmanager
async def surefoot(place: Place, *arguments: str) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=str(SUREFOOT), args=["mcp", *arguments], cwd=place.folder, env=place.environment
    )
    async with Client(parameters, cache=None) as client:
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, said(result)
    document: dict[str, Any] = result.structured_content
    assert json.loads(said(result)) == document
    return document


def said(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


async def test_a_job_is_started_followed_and_read_over_mcp(shop: Place) -> None:
    async with surefoot(shop) as client:
        started = await told(client, "start_job", agent="plain", message="hello", id="over-mcp")
        again = await told(client, "start_job", agent="plain", message="hello", id="over-mcp")
        status = await told(client, "job_status", job="over-mcp", wait_seconds=30)
        first = await told(client, "job_transcript", job="over-mcp", limit=1)
        rest = await told(client, "job_transcript", job="over-mcp", start=first["next"])
        jobs = await told(client, "list_jobs", agent="plain")

    assert started == again == {"job": "over-mcp"}
    assert (status["state"], status["status"]) == ("ended", "complete")
    assert first["entries"][0]["kind"] == "message"
    assert (first["total"], first["next"], rest["next"]) == (2, 1, None)
    assert rest["entries"][0]["kind"] == "turn"
    assert "over-mcp" in [row["job"] for row in jobs["jobs"]]


async def test_without_a_word_there_is_nothing_to_decide_with(shop: Place) -> None:
    async with surefoot(shop) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    assert sorted(tools) == sorted([*READS, *WORKS])
    assert {name: bool(hints and hints.read_only_hint) for name, hints in tools.items()} == {
        **dict.fromkeys(READS, True),
        **dict.fromkeys(WORKS, False),
    }


async def test_decisions_are_made_under_the_name_that_was_given(shop: Place) -> None:
    async with surefoot(shop, "--allow-decisions", "--as", "robot") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        job = (await told(client, "start_job", agent="shop", message="order cups"))["job"]
        status = await told(client, "job_status", job=job, wait_seconds=30)
        [waiting] = status["pending"]
        inbox = await told(client, "list_inbox")
        stale = await client.call_tool("approve", {"job": job, "call": waiting["call"], "digest": "0" * 64})
        applied = await told(client, "approve", job=job, call=waiting["call"], digest=waiting["digest"])
        ended = await told(client, "job_status", job=job, wait_seconds=30)

    assert set(DECIDES) <= set(names)
    assert (status["state"], waiting["tool"]) == ("waiting", "reorder")
    assert job in [item["job"] for item in inbox["inbox"]]
    assert stale.is_error
    assert "digest" in said(stale)
    assert (applied["status"], applied["decided"]["by"]) == ("applied", "robot")
    assert ended["status"] == "complete"
    assert len(shop.done()) == 1


async def test_a_job_goes_on_after_a_reply(shop: Place) -> None:
    async with surefoot(shop) as client:
        job = (await told(client, "start_job", agent="plain", message="hello"))["job"]
        await told(client, "job_status", job=job, wait_seconds=30)
        await told(client, "reply", job=job, message="and then?")
        status = await told(client, "job_status", job=job, wait_seconds=30)

    assert (status["state"], status["status"]) == ("ended", "complete")


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("job_status", "there is no job 'nowhere'"),
        ("reply", "there is no job 'nowhere'"),
        ("stop", "there is no job 'nowhere'"),
    ],
)
async def test_what_goes_wrong_is_a_result_with_what_to_do(shop: Place, tool: str, text: str) -> None:
    arguments = {"job": "nowhere", **({"message": "x"} if tool == "reply" else {})}
    async with surefoot(shop) as client:
        result = await client.call_tool(tool, arguments)

    assert result.is_error
    assert text in said(result)


async def test_a_program_is_told_which_agents_there_are_and_a_job_of_no_agent_is_refused(shop: Place) -> None:
    async with surefoot(shop) as client:
        instructions = client.instructions or ""
        unknown = await client.call_tool("start_job", {"agent": "nobody", "message": "x", "id": "mcp-nobody"})
        empty = await client.call_tool("start_job", {"agent": "plain", "message": "", "id": "mcp-empty"})
        wrong = await client.call_tool("job_status", {"jop": "mcp-empty", "wait_seconds": "long"})
        started = [await client.call_tool("job_status", {"job": job}) for job in ("mcp-nobody", "mcp-empty")]

    assert "The agents are: bank, boss, " in instructions
    assert unknown.is_error
    assert said(unknown).startswith("There is no agent 'nobody'. The app has: bank, boss, ")
    assert empty.is_error
    assert said(empty) == "start_job was not called: message: it has to have at least 1 character"
    assert said(wrong) == "job_status was not called: job: it is missing; wait_seconds: it has to be a number"
    assert [status.is_error for status in started] == [True, True]


def test_decisions_need_a_name(shop: Place) -> None:
    ended = shop.run("mcp", "--allow-decisions")

    assert ended.code == 2
    assert "--allow-decisions needs --as NAME" in ended.err
    assert ended.out == ""


def test_an_end_of_stdin_ends_it(shop: Place) -> None:
    ended = shop.run("mcp", input=b"")

    assert (ended.code, ended.out) == (0, "")
