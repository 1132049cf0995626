"""Calls of MCP tools over stdio: what the model reads of each kind of answer, and when a call is made again."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable

import pytest

from activities.errors import InvalidArguments, ToolError
from activities.mcp.fate import EndUnseen
from activities.mcp.server import Env, McpServer
from tests.activities.mcp.conftest import Desk, is_alive
from tests.waiting import until

PIXEL = "YSBwaWN0dXJl"


def logged(caplog: pytest.LogCaptureFixture, text: str) -> Callable[[], Awaitable[bool]]:
    async def seen() -> bool:
        return text in caplog.text

    return seen


async def test_a_call_reaches_the_server_with_its_idempotency_key(desk: Desk) -> None:
    output = await desk.call(desk.agent(), "desk_add", a=2, b=3)

    assert output.text == "5"
    assert "add job-1/c1-1" in desk.log


async def test_two_calls_use_one_process_and_one_list(desk: Desk) -> None:
    agent = desk.agent()

    await desk.call(agent, "desk_add", a=1, b=1)
    await desk.call(agent, "desk_add", a=1, b=2)

    assert len(desk.pids) == 1
    assert desk.log.count("list") == 3  # its three pages, once


async def test_arguments_that_do_not_fit_never_reach_the_server(desk: Desk) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await desk.call(desk.agent(), "desk_add", a="two", b=-1, c=0)

    assert str(refused.value).splitlines()[0] == "The arguments do not fit the tool desk_add:"
    assert set(str(refused.value).splitlines()[1:]) == {
        '- a: "two" is not of type "integer"',
        "- b: -1 is less than the minimum of 0",
        "- (the whole): Additional properties are not allowed ('c' was unexpected)",
    }
    assert desk.calls == []


async def test_an_error_result_is_told_to_the_model(desk: Desk) -> None:
    with pytest.raises(ToolError, match="the desk is closed"):
        await desk.call(desk.agent(), "desk_fail")


async def test_a_protocol_error_is_told_to_the_model_at_once(desk: Desk) -> None:
    with pytest.raises(ToolError, match=r"^The server refused the call: no such issue \(code -32602\)$"):
        await desk.call(desk.agent(), "desk_refuse")

    assert len(desk.calls) == 1


async def test_a_result_that_breaks_its_own_schema_is_told_as_made_and_not_tried_again(desk: Desk) -> None:
    with pytest.raises(ToolError, match="The call was made, but its result can't be used"):
        await desk.call(desk.agent(), "desk_lie")

    assert desk.calls == ["lie"]


async def test_a_picture_is_a_mark_for_the_model_and_whole_for_people(desk: Desk) -> None:
    output = await desk.call(desk.agent(), "desk_picture")

    assert output.text == "here:\n[image: image/png, 9 bytes, not shown]"
    assert output.whole == f"{output.text}\ndata:image/png;base64,{PIXEL}"


async def test_audio_resources_and_links_are_shown_with_type_and_size(desk: Desk) -> None:
    output = await desk.call(desk.agent(), "desk_parts")

    assert output.text.splitlines() == [
        "[audio: audio/wav, 9 bytes, not shown]",
        "[link to a resource: report, text/csv, 12 bytes: desk://report]",
        "[resource desk://note, text/plain]",
        "a note",
        "[resource desk://scan: application/pdf, 9 bytes, not shown]",
    ]
    assert f"data:application/pdf;base64,{PIXEL}" in output.whole


@pytest.mark.parametrize(("tool", "text"), [("desk_structured", '{"open": 2}'), ("desk_both", '{"open":2}')])
async def test_structured_content_is_json_and_not_said_twice(desk: Desk, tool: str, text: str) -> None:
    assert (await desk.call(desk.agent(), tool)).text == text


async def test_five_megabytes_of_text_come_through(desk: Desk) -> None:
    output = await desk.call(desk.agent(), "desk_big")

    assert len(output.text) == 5_000_000


async def test_a_nul_and_a_line_separator_come_through(desk: Desk) -> None:
    assert (await desk.call(desk.agent(), "desk_odd")).text == "NUL \0 and a line\u2028separator"


async def test_half_a_surrogate_pair_is_replaced_and_the_call_answered(desk: Desk) -> None:
    assert (await desk.call(desk.agent(), "desk_surrogate")).text == "half \ufffd pair"


# --- servers that die or hang


async def test_a_server_that_is_killed_in_a_call_leaves_its_end_unseen_and_is_started_again_for_the_next(
    desk: Desk,
) -> None:
    agent = desk.agent()

    with pytest.raises(EndUnseen, match="the server went away during the call"):
        await desk.call(agent, "desk_die")
    output = await desk.call(agent, "desk_add", a=1, b=1)

    assert output.text == "2"
    assert desk.calls == ["die", "add"]
    assert len(desk.pids) == 2


async def test_a_server_that_died_while_nobody_called_is_started_again(desk: Desk) -> None:
    agent = desk.agent()
    await desk.call(agent, "desk_add", a=1, b=1)
    os.kill(desk.pids[0], signal.SIGKILL)

    async def gone() -> bool:
        return not is_alive(desk.pids[0])

    await until(gone)
    output = await desk.call(agent, "desk_add", a=1, b=2)

    assert output.text == "3"
    assert desk.calls == ["add"] * 2


@pytest.mark.parametrize(
    ("mode", "why"),
    [("hang-start", "it did not answer within 6 seconds"), ("hang-list", "it did not list its tools within 6 seconds")],
)
async def test_a_server_that_hangs_is_missing_after_its_time_and_then_at_once(desk: Desk, mode: str, why: str) -> None:
    agent = desk.agent(desk.server(mode=mode, timeout=6.0))

    first = await desk.servers.equip(agent)
    since = time.monotonic()
    second = await desk.servers.equip(agent)

    assert first.missing == second.missing == {"desk": why}
    assert first.agent.out_of_reach == ("desk",)
    assert first.agent.all_tools == ()
    assert time.monotonic() - since < 3


async def test_a_slow_server_does_not_hold_up_another(desk: Desk) -> None:
    slow, quick = desk.server("slow", mode="hang-start", timeout=40.0), desk.server()
    waiting = asyncio.create_task(desk.servers.equip(desk.agent(slow)))

    output = await desk.call(desk.agent(slow, quick), "desk_add", a=1, b=1)

    assert output.text == "2"
    assert not waiting.done()
    waiting.cancel()


async def test_a_command_that_is_not_there_is_named_with_what_to_do(desk: Desk) -> None:
    server = McpServer("nowhere", command=["no-such-command", "x"])

    equipped = await desk.servers.equip(desk.agent(server))

    assert equipped.missing == {
        "nowhere": "there is no command 'no-such-command' on the worker's PATH: install it, or give its path"
    }


async def test_a_command_that_ends_at_once_is_told_so(desk: Desk) -> None:
    server = McpServer("brief", command=["true"])

    equipped = await desk.servers.equip(desk.agent(server))

    assert equipped.missing == {"brief": "true ended, or closed its stdout, before it answered"}


async def test_the_last_words_of_a_command_that_failed_are_told(desk: Desk) -> None:
    server = McpServer("brief", command=["sh", "-c", "echo loading; echo no such package >&2; exit 1"])

    equipped = await desk.servers.equip(desk.agent(server))

    assert equipped.missing == {
        "brief": "sh ended, or closed its stdout, before it answered; the last line of its stderr: no such package"
    }


async def test_lines_on_stdout_that_are_no_messages_are_passed_over(desk: Desk) -> None:
    output = await desk.call(desk.agent(desk.server(mode="chatty")), "desk_add", a=2, b=3)

    assert output.text == "5"


async def test_closing_ends_the_child(desk: Desk) -> None:
    await desk.call(desk.agent(), "desk_add", a=1, b=1)

    await desk.servers.close()

    assert not is_alive(desk.pids[0])


async def test_closing_ends_a_child_that_never_answered_too(desk: Desk) -> None:
    agent = desk.agent(desk.server(mode="hang-start", timeout=2.0))
    await desk.servers.equip(agent)
    started = await until(_pids(desk))

    await desk.servers.close()

    assert [pid for pid in started if is_alive(pid)] == []


def _pids(desk: Desk) -> Callable[[], Awaitable[list[int]]]:
    async def ask() -> list[int]:
        return desk.pids

    return ask


async def test_a_server_gets_a_small_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not for servers")

    names = json.loads((await desk.call(desk.agent(), "desk_environment")).text)

    assert "ANTHROPIC_API_KEY" not in names
    assert {"PATH", "DESK_LOG"} <= set(names)


# --- secrets


async def test_a_secret_is_read_from_the_worker_and_hidden_in_all_that_comes_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DESK_SECRET", "sesame-open")
    agent = desk.agent(desk.server(env={"DESK_TOKEN": Env("DESK_SECRET", prefix="Bearer ")}))

    with caplog.at_level("INFO"):
        output = await desk.call(agent, "desk_leak")
        await until(logged(caplog, "my token is"))

    assert output.text == "token Bearer (DESK_SECRET)"
    assert "desk: my token is Bearer (DESK_SECRET)" in caplog.messages
    assert "sesame-open" not in caplog.text


async def test_a_secret_that_is_not_set_is_named(desk: Desk) -> None:
    agent = desk.agent(desk.server(env={"DESK_TOKEN": Env("DESK_SECRET_NOT_SET")}))

    equipped = await desk.servers.equip(agent)

    assert equipped.missing == {
        "desk": "DESK_SECRET_NOT_SET is not set where the worker runs: export DESK_SECRET_NOT_SET=… there"
    }
