"""The OpenAI adapters on recorded streams, over a real HTTP server and in chunks of odd sizes: the turn that is read,
what watchers see of it, and what the adapter sends next, judged by what the recorded provider accepted."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.providers.errors import Overloaded, QuotaExhausted
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_chat_answer import chat_turn
from activities.providers.openai_chat_stream import chat_answer
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.openai_responses_answer import responses_turn
from activities.providers.openai_responses_stream import ENDS, responses_answer
from tests.activities.providers.openai_streams import Watcher, in_events, read_from, sdk_at, streams
from tests.activities.providers.openai_traffic import (
    CHAT_STREAM_ERRORS,
    CHAT_STREAMS,
    RESPONSES_STREAM_ERRORS,
    RESPONSES_STREAMS,
)
from tests.activities.providers.openai_wire import base_url, compared_chat, declared, request, transcript_of_chat
from tests.judge import judge_chat, judge_responses
from tests.streaming import serving
from tests.traffic import Exchange, exchanges, or_skipped, require_traffic
from workflows.contracts import CallPart, Entry, Message, ReasoningPart, Result, TextPart, Turn, Usage

EDITED = "openai-chat/stream_arguments_key_missing_first"
"""Its answer was given another id than the request behind it answers."""

FORGETFUL = "other-compatible/moonshot_kimi_avian_streaming"
"""Of the text beside the calls its client sent back the last piece alone, which is a space."""


async def _dialogue(
    recorded: list[Exchange], *sizes: int
) -> tuple[list[Turn], list[dict[str, Any]], list[list[tuple[str, str]]]]:
    """Go through a recorded dialogue, streamed; the turns read, the bodies sent, and what watchers saw of each turn."""
    turns: list[Turn] = []
    watchers: list[Watcher] = []
    async with serving(*streams(recorded, *sizes)) as server:
        provider = OpenAIChat(sdk_at(server, base_url(recorded[0])))
        for number, exchange in enumerate(recorded, start=1):
            messages = _messages(exchange)
            system = "\n".join(each["content"] for each in messages if each["role"] == "system")
            watchers.append(Watcher())
            asked = request(
                transcript_of_chat(messages, turns),
                instructions=system,
                tools=declared(exchange),
                turn=number,
                live=watchers[-1],
            )
            turns.append(await provider.complete(asked))
        await provider.close()
    return turns, server.sent, [watcher.said for watcher in watchers]


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    """The recorded messages but for empty ones of the assistant, which most servers reject."""
    messages = (exchange.request_body or {}).get("messages") or [{"role": "user", "content": "Go"}]
    return [
        message
        for message in messages
        if message["role"] != "assistant" or message.get("content") or message.get("tool_calls")
    ]


@pytest.mark.parametrize("sizes", [(), (1,), (65536,)], ids=["odd", "bytes", "whole"])
@pytest.mark.parametrize("name", CHAT_STREAMS)
async def test_each_next_request_says_what_the_recorded_one_said(name: str, sizes: tuple[int, ...]) -> None:
    recorded = _with_own_ids(exchanges(name)) if name == EDITED else exchanges(name)

    turns, sent, said = await _dialogue(recorded, *sizes)

    for body, exchange in zip(sent, recorded, strict=True):
        judge_chat(body)
        messages = [_without_text(each) for each in body["messages"]] if name == FORGETFUL else body["messages"]
        assert compared_chat(messages) == compared_chat(_messages(exchange))
        assert body["stream"] is True
    for turn, seen in zip(turns, said, strict=True):
        assert "".join(text for kind, text in seen if kind == "text") == _all(turn, TextPart)
        assert "".join(text for kind, text in seen if kind == "reasoning") == _all(turn, ReasoningPart)
        assert [text for kind, text in seen if kind == "call"] == [call.tool for call in turn.calls]


def _without_text(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": " "} if message.get("tool_calls") else message


def _with_own_ids(recorded: list[Exchange]) -> list[Exchange]:
    """The second request as it was before the answer before it was edited."""
    first, second = recorded
    body = json.loads(json.dumps(second.request_body).replace('"0"', '"llm_version:0"'))
    return [first, replace(second, request_body=body)]


def _all(turn: Turn, kind: type[TextPart] | type[ReasoningPart]) -> str:
    return "".join(part.text for part in turn.parts if isinstance(part, kind))


async def _read(name: str) -> tuple[list[Turn], list[dict[str, Any]]]:
    turns, sent, _ = await _dialogue(_with_own_ids(exchanges(name)) if name == EDITED else exchanges(name))
    return turns, sent


async def test_parallel_calls_are_told_apart_by_their_index() -> None:
    turns, _ = await _read("openai-chat/stream_parallel_two_calls")

    assert [(call.id, call.provider_id is not None) for call in turns[0].calls] == [("c1-1", True), ("c1-2", True)]
    assert len({call.provider_id for call in turns[0].calls}) == 2
    assert turns[0].usage.unmeasured == 0
    assert turns[0].stop_detail == "tool_calls"


async def test_a_repeated_id_and_name_are_taken_once_and_done_is_an_end_without_a_finish_reason() -> None:
    turns, _ = await _read("openai-chat/stream_no_finish_reason_repeated_id")

    assert turns[0].calls == [CallPart(id="c1-1", provider_id="0", tool="llm_version", arguments={})]
    assert (turns[0].stop, turns[0].stop_detail) == ("tool_calls", None)
    assert turns[0].usage == Usage(input_tokens=57, output_tokens=17, model_calls=1)


async def test_arguments_that_come_late_or_never_are_none() -> None:
    late, _ = await _read("openai-chat/stream_arguments_key_missing_first")
    never, sent = await _read("synthetic-fixtures-not-recordings/openai_compat_stream_args_null_never_filled")

    assert late[0].calls == [CallPart(id="c1-1", provider_id="llm_version:0", tool="llm_version", arguments={})]
    assert never[0].calls == [CallPart(id="c1-1", provider_id="0", tool="llm_version", arguments={})]
    assert sent[1]["messages"][1]["tool_calls"][0]["function"] == {"name": "llm_version", "arguments": "{}"}


async def test_a_call_without_index_and_an_empty_name_in_a_later_piece() -> None:
    whole, sent = await _read("mistral/stream_tool_call_without_index")
    pieces, _ = await _read("mistral/stream_name_empty_string_in_second_delta")

    arguments = {"city": "San Francisco"}
    assert whole[0].calls == [CallPart(id="c1-1", provider_id="qDEcl0n92", tool="get_weather", arguments=arguments)]
    assert whole[0].usage == Usage(input_tokens=96, output_tokens=23, model_calls=1)
    assert "stream_options" not in sent[0]
    assert [(call.tool, call.arguments) for call in pieces[0].calls] == [
        ("webSearchTool", {"query": "current Berlin weather"})
    ]


async def test_content_null_is_no_text_and_reasoning_goes_back_whole() -> None:
    turns, sent = await _read("other-compatible/llamacpp_tool_streaming")
    recorded = exchanges("other-compatible/llamacpp_tool_streaming")[1].request_body["messages"][2]

    assert [part.kind for part in turns[0].parts] == ["reasoning", "call"]
    assert sent[1]["messages"][2]["reasoning_content"] == recorded["reasoning_content"]


async def test_details_of_reasoning_are_one_entry_for_each_thought() -> None:
    turns, sent = await _read("other-compatible/moonshot_kimi_avian_streaming")
    recorded = exchanges("other-compatible/moonshot_kimi_avian_streaming")[1].request_body["messages"][2]

    message = next(each for each in sent[1]["messages"] if each["role"] == "assistant")
    assert message["reasoning_content"] == recorded["reasoning_content"]
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": recorded["reasoning_content"], "format": "unknown", "index": 0}
    ]
    assert turns[0].usage.reasoning_tokens == 87


async def test_a_stream_that_reached_the_length_limit_says_so_and_its_usage_is_unmeasured() -> None:
    turns, _ = await _read("other-compatible/vllm_stream_length")

    assert (turns[0].stop, turns[0].stop_detail) == ("max_tokens", "length")
    assert turns[0].usage == Usage(model_calls=1, unmeasured=1)


@pytest.mark.parametrize("name", CHAT_STREAM_ERRORS)
async def test_a_failed_tool_use_inside_a_stream_is_a_turn_that_the_model_can_mend(name: str) -> None:
    recorded = exchanges(name)
    async with serving(*streams(recorded)) as server:
        provider = OpenAIChat(sdk_at(server, base_url(recorded[0])))
        watcher = Watcher()
        failed = await provider.complete(request(live=watcher, tools=declared(recorded[0])))
        error = Result(call="c1-1", tool="get_something_by_name", content="the arguments do not fit", status="error")
        told: list[Entry] = [Message(text="Go"), failed, error]
        mended = await provider.complete(request(told, turn=2, live=Watcher(), tools=declared(recorded[0])))
        found = Result(call="c2-1", tool="get_something_by_name", content="found")
        last = await provider.complete(
            request([*told, mended, found], turn=3, live=Watcher(), tools=declared(recorded[0]))
        )
        await provider.close()

    assert watcher.said[0][0] == "reasoning"
    assert [part.kind for part in failed.parts] == ["call"]
    assert json.loads(failed.calls[0].raw or "")["arguments"] == {"invalid_param": "value"}
    assert (failed.calls[0].tool, failed.native) == ("get_something_by_name", None)
    assert [(call.tool, call.arguments) for call in mended.calls] == [("get_something_by_name", {"name": "example"})]
    assert mended.usage == Usage(input_tokens=304, output_tokens=49, reasoning_tokens=23, model_calls=1)
    assert last.text
    for body in server.sent:
        judge_chat(body)
        assert not {"reasoning", "channel"} & {key for message in body["messages"] for key in message}


# --- Responses


async def _responses(name: str) -> tuple[Turn, dict[str, Any], Watcher]:
    """The turn, the request that follows it, and what watchers saw."""
    recorded = exchanges(name)
    watcher = Watcher()
    async with serving(*streams([recorded[0]] * 2)) as server:
        provider = OpenAIResponses(sdk_at(server))
        turn = await provider.complete(request(live=watcher))
        results = [Result(call=call.id, tool=call.tool, content="done") for call in turn.calls]
        again = request([Message(text="Go"), turn, *results, Message(text="And now?")], turn=2, live=Watcher())
        await provider.complete(again)
        await provider.close()
    judge_responses(server.sent[1])
    assert [body["stream"] for body in server.sent] == [True, True]
    return turn, server.sent[1], watcher


@pytest.mark.parametrize("name", RESPONSES_STREAMS)
async def test_the_answer_of_a_stream_is_the_one_of_its_last_event(name: str) -> None:
    turn, _, watcher = await _responses(name)
    last = json.loads(in_events(exchanges(name)[0].response_body)[-1].partition("data:")[2])["response"]

    assert turn == responses_turn(last, request(), "openai_responses")
    assert "".join(text for kind, text in watcher.said if kind == "text") == _all(turn, TextPart)
    assert "".join(text for kind, text in watcher.said if kind == "reasoning") == _all(turn, ReasoningPart)
    assert [text for kind, text in watcher.said if kind == "call"] == [call.tool for call in turn.calls]


async def test_incomplete_is_an_end_and_a_truncated_turn() -> None:
    turn, _, _ = await _responses("openai-responses/incomplete_stream_sse")

    assert (turn.stop, turn.stop_detail) == ("max_tokens", "max_output_tokens")
    assert turn.native is not None
    assert turn.native.response_id is None


async def test_item_ids_that_change_with_each_event_do_not_matter() -> None:
    turn, _, _ = await _responses("openai-responses/item_id_rotation_copilot_proxy_sse")

    assert [part.kind for part in turn.parts] == ["reasoning", "text"]
    assert turn.text.startswith("There are **3** letter")
    assert turn.stop == "end"


async def test_the_input_of_a_custom_tool_is_raw_text() -> None:
    turn, sent, _ = await _responses("synthetic-fixtures-not-recordings/openai_custom_tool_call_stream")

    call = CallPart(
        id="c1-1", provider_id="call_custom_sql_001", tool="write_sql", raw="SELECT * FROM users WHERE age > 25"
    )
    assert turn.calls == [call]
    assert [item["type"] for item in sent["input"] if item.get("call_id") == "call_custom_sql_001"] == [
        "custom_tool_call",
        "custom_tool_call_output",
    ]


@pytest.mark.parametrize("name", RESPONSES_STREAM_ERRORS)
async def test_a_quota_that_is_used_up_is_an_error_inside_a_200_stream(name: str) -> None:
    async with serving(*streams(exchanges(name))) as server:
        provider = OpenAIResponses(sdk_at(server))
        with pytest.raises(QuotaExhausted, match="exceeded your current quota") as caught:
            await provider.complete(request(live=Watcher()))
        await provider.close()

    assert caught.value.code == "insufficient_quota"
    assert not caught.value.retryable


# --- any stream


def _turn_of_chat(chunks: list[bytes]) -> Turn:
    answer = asyncio.run(chat_answer(read_from(chunks), "m", Watcher()))
    return chat_turn(answer, request(), "openai_chat")


def _turn_of_responses(chunks: list[bytes]) -> Turn:
    answer = asyncio.run(responses_answer(read_from(chunks), "m", Watcher()))
    return responses_turn(answer, request(), "openai_responses")


READERS = dict.fromkeys(CHAT_STREAMS, _turn_of_chat) | dict.fromkeys(RESPONSES_STREAMS, _turn_of_responses)


@pytest.mark.parametrize("name", or_skipped(sorted(READERS)))
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_turn_is_the_same_however_its_bytes_are_split(name: str, data: st.DataObject) -> None:
    for exchange in exchanges(name):
        raw = exchange.response_body.encode()
        places = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=20)))
        chunks = [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]

        assert READERS[name](chunks) == READERS[name]([raw])


@pytest.mark.parametrize("name", or_skipped(sorted(READERS)))
def test_a_stream_that_is_cut_gives_no_turn_except_behind_its_end(name: str) -> None:
    require_traffic()
    for exchange in exchanges(name):
        parts = in_events(exchange.response_body)
        whole = READERS[name]([exchange.response_body.encode()])
        for count in range(len(parts)):
            chunks = [part.encode() for part in parts[:count]]
            if any(_ends(part) for part in parts[:count]):
                turn = READERS[name](chunks)
                assert (turn.parts, turn.stop) == (whole.parts, whole.stop)
            else:
                with pytest.raises(Overloaded, match=r"stream of m ended before .* cut off") as caught:
                    READERS[name](chunks)
                assert caught.value.retryable


def _ends(event: str) -> bool:
    data = event.partition("data:")[2].strip()
    if data == "[DONE]":
        return True
    body = json.loads(data)
    return body.get("type") in ENDS or any(choice.get("finish_reason") for choice in body.get("choices") or [])
