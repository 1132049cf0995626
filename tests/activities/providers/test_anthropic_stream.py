"""How a streamed answer of Anthropic's Messages API becomes a turn, where no recording shows it."""

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    Overloaded,
    RateLimited,
    Rejected,
    TimedOut,
    Unauthenticated,
)
from activities.providers.protocol import ModelRequest
from tests.streaming import Heard, Stream, cut, serving
from tests.traffic import Answer, Replay
from tests.waiting import until
from workflows.contracts import Message, ReasoningPart, TextPart, Turn, Usage

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "type": "message",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 4},
    },
}
STOP = {"type": "message_stop"}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def begun(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def ending(reason: str | None = "end_turn", **fields: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}, **fields}, STOP]


def written(*events: Any) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


CALLING = [
    START,
    begun(0, type="thinking", thinking="", signature=""),
    {"type": "ping"},
    more(0, "thinking_delta", thinking="Hm, "),
    more(0, "thinking_delta", thinking="ä€😀."),
    more(0, "signature_delta", signature="c2ln"),
    {"type": "content_block_stop", "index": 0},
    begun(1, type="text", text=""),
    more(1, "text_delta", text="Let me "),
    more(1, "text_delta", text="look."),
    begun(2, type="tool_use", id="toolu_1", name="find", input={}),
    more(2, "input_json_delta", partial_json=""),
    more(2, "input_json_delta", partial_json='{"what": "a th'),
    more(2, "input_json_delta", partial_json='ing"}'),
    *ending("tool_use"),
]


def request(**fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "claude-x", "instructions": "", "transcript": [Message(text="Hello")]}
    return ModelRequest(**{**given, **fields})


async def answered(stream: Stream, heard: Heard | None = None, **fields: Any) -> Turn:
    async with serving(stream) as server:
        provider = AnthropicMessages(AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0))
        try:
            return await provider.complete(request(live=heard or Heard(), **fields))
        finally:
            await provider.close()


async def turn_of(*events: Any, heard: Heard | None = None) -> Turn:
    return await answered(Stream([written(*events).encode()]), heard)


async def items_of(*events: Any) -> list[Any]:
    native = (await turn_of(*events)).native
    assert native is not None
    return native.items


async def test_a_stream_becomes_the_turn_that_the_whole_answer_would_be() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm, ä€😀.", "signature": "c2ln"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"what": "a thing"}},
    ]
    usage = {"input_tokens": 10, "output_tokens": 9, "cache_read_input_tokens": 4}
    whole = {"type": "message", "model": "claude-x", "content": blocks, "stop_reason": "tool_use", "usage": usage}
    replay = Replay(Answer(whole))
    client = AsyncAnthropic(api_key="k", base_url="https://host.invalid", http_client=replay.client())

    expected = await AnthropicMessages(client).complete(request())

    assert await turn_of(*CALLING) == expected
    assert "stream" not in replay.sent[0]


async def test_an_answer_is_shown_while_it_comes() -> None:
    heard = Heard()

    await turn_of(*CALLING, heard=heard)

    assert heard.pieces == [
        ("reasoning", "Hm, "),
        ("reasoning", "ä€😀."),
        ("text", "Let me "),
        ("text", "look."),
        ("call", "find"),
    ]


@cache
def raw() -> bytes:
    return written(*CALLING).encode()


async def in_process(*chunks: bytes) -> Turn:
    """Without a server, for many examples: the transport hands the chunks over as they are."""

    async def content() -> Any:
        for chunk in chunks:
            yield chunk

    def answer(asked: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content(), request=asked)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = AsyncAnthropic(api_key="k", base_url="https://host.invalid", http_client=http, max_retries=0)
        return await AnthropicMessages(client).complete(request(live=Heard()))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 200), min_size=1))
def test_the_turn_is_the_same_however_its_bytes_are_split(sizes: Sequence[int]) -> None:
    assert asyncio.run(in_process(*cut(raw(), *sizes))) == asyncio.run(in_process(raw()))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, len(raw()) - 2))
def test_a_stream_that_is_cut_anywhere_is_no_turn(length: int) -> None:
    with pytest.raises(ModelError) as raised:
        asyncio.run(in_process(raw()[:length]))

    assert raised.value.retryable


async def test_a_stream_without_its_last_event_says_what_is_missing() -> None:
    said = "the stream of claude-x ended before its event message_stop: the answer is cut off, so nothing of it counts"

    with pytest.raises(Overloaded, match=said):
        await turn_of(*CALLING[:-1])


async def test_a_lost_connection_is_no_turn() -> None:
    with pytest.raises(Overloaded, match="RemoteProtocolError"):
        await answered(Stream([written(*CALLING[:-1]).encode()], then="cut"))


async def test_a_turn_is_whole_behind_its_last_event_even_if_the_connection_is_lost() -> None:
    turn = await answered(Stream([raw()], then="cut"))

    assert [call.tool for call in turn.calls] == ["find"]


@pytest.mark.parametrize(
    ("kind", "error", "retryable"),
    [
        ("overloaded_error", Overloaded, True),
        ("rate_limit_error", RateLimited, True),
        ("api_error", Overloaded, True),
        ("invalid_request_error", Rejected, False),
        ("authentication_error", Unauthenticated, False),
    ],
)
async def test_an_error_in_mid_stream_is_classified_like_an_error_body(
    kind: str, error: type[ModelError], retryable: bool
) -> None:
    with pytest.raises(error) as raised:
        await turn_of(*CALLING[:5], {"type": "error", "error": {"type": kind, "message": "No."}})

    assert type(raised.value) is error
    assert raised.value.retryable is retryable


async def test_an_error_answer_to_a_live_request_is_classified() -> None:
    with pytest.raises(Overloaded, match=r"HTTP 529 \(overloaded_error\): Overloaded"):
        await answered(Stream([json.dumps(OVERLOADED).encode()], status=529, content_type="application/json"))


async def test_a_server_that_ignores_the_wish_to_stream_is_read_as_usual() -> None:
    whole = {**START["message"], "content": [{"type": "text", "text": "Fine."}], "stop_reason": "end_turn"}

    turn = await answered(Stream([json.dumps(whole).encode()], content_type="application/json"))

    assert (turn.parts, turn.stop) == ([TextPart(text="Fine.")], "end")


async def test_a_page_of_a_proxy_is_malformed() -> None:
    with pytest.raises(MalformedAnswer, match="answered with no JSON: '<html>'"):
        await answered(Stream([b"<html>"], content_type="text/html"))


async def test_a_silent_stream_times_out() -> None:
    with pytest.raises(TimedOut, match=r"silent for 0\.05 seconds"):
        await answered(Stream([written(START).encode()], then="silence"), idle_seconds=0.05)


async def test_a_cancelled_call_closes_its_connection() -> None:
    heard = Heard()

    async def shown() -> bool:
        return bool(heard.pieces)

    async def left() -> int:
        return server.left

    async with serving(Stream([written(*CALLING[:5]).encode()], then="silence")) as server:
        provider = AnthropicMessages(AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0))
        task = asyncio.create_task(provider.complete(request(live=heard)))
        await until(shown)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await until(left) == 1
        await provider.close()


async def test_unknown_events_are_ignored_and_unknown_blocks_and_deltas_kept() -> None:
    items = await items_of(
        START,
        {"type": "weather_report", "sun": True},
        begun(0, type="dream", depth=3, scene="A "),
        more(0, "dream_delta", scene="sea.", colour="blue", length=None),
        more(0, "dream_delta", length=7),
        *ending(),
    )

    assert items == [{"type": "dream", "depth": 3, "scene": "A sea.", "colour": "blue", "length": 7}]


async def test_fields_of_known_deltas_that_are_about_the_stream_enter_no_block() -> None:
    items = await items_of(
        START,
        begun(0, type="thinking", thinking="", signature=""),
        more(0, "thinking_delta", thinking="Hm.", estimated_tokens=50),
        begun(1, type="text", text="x"),
        *ending(),
    )

    assert items[0] == {"type": "thinking", "thinking": "Hm.", "signature": ""}


async def test_citations_gather_on_their_text() -> None:
    items = await items_of(
        START,
        begun(0, type="text", text="", citations=[]),
        more(0, "citations_delta", citation={"cited_text": "a"}),
        more(0, "text_delta", text="So."),
        more(0, "citations_delta", citation={"cited_text": "b"}),
        *ending(),
    )

    assert items == [{"type": "text", "text": "So.", "citations": [{"cited_text": "a"}, {"cited_text": "b"}]}]


async def test_a_compaction_comes_in_one_delta() -> None:
    items = await items_of(
        START,
        begun(0, type="compaction", content=None),
        more(0, "compaction_delta", content="So far: …", encrypted_content="ZW5j"),
        *ending("compaction"),
    )

    assert items == [{"type": "compaction", "content": "So far: …", "encrypted_content": "ZW5j"}]


async def test_the_blocks_of_a_server_tool_are_no_calls_of_ours_but_shown() -> None:
    heard = Heard()

    turn = await turn_of(
        START,
        begun(0, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        more(0, "input_json_delta", partial_json='{"query": "x"}'),
        begun(1, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
        begun(2, type="text", text=""),
        more(2, "text_delta", text="Found."),
        *ending(),
        heard=heard,
    )

    assert (turn.calls, turn.parts, heard.calls) == ([], [TextPart(text="Found.")], ["web_search"])
    assert turn.native is not None
    assert turn.native.items[0] == {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
    }


async def test_an_index_that_begins_anew_is_another_block() -> None:
    turn = await turn_of(
        START,
        begun(0, type="thinking", thinking=""),
        more(0, "thinking_delta", thinking="Hm."),
        begun(0, type="text", text=""),
        more(0, "text_delta", text="Yes."),
        *ending(),
    )

    assert turn.parts == [ReasoningPart(text="Hm."), TextPart(text="Yes.")]


async def test_a_call_that_max_tokens_cut_off_is_malformed_and_the_turn_truncated() -> None:
    turn = await turn_of(
        START,
        begun(0, type="tool_use", id="toolu_1", name="pay", input={}),
        more(0, "input_json_delta", partial_json='{"amount": 10'),
        *ending("max_tokens"),
    )

    assert turn.stop == "max_tokens"
    assert [(call.arguments, call.raw) for call in turn.calls] == [(None, '{"amount": 10')]


async def test_what_the_last_usage_leaves_out_or_calls_null_stays() -> None:
    turn = await turn_of(
        START,
        begun(0, type="text", text="x"),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 5, "input_tokens": None},
        },
        STOP,
    )

    assert turn.usage == Usage(input_tokens=14, cached_tokens=4, output_tokens=5, model_calls=1)


async def test_the_container_of_the_last_delta_is_kept() -> None:
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "container": {"id": "container_1"}},
        "usage": {},
    }

    turn = await turn_of(START, begun(0, type="text", text="x"), end, STOP)

    assert turn.native is not None
    assert turn.native.response_id == "container_1"


async def test_a_fallback_block_names_the_model_that_answered() -> None:
    turn = await turn_of(
        START, begun(0, type="fallback", to={"model": "claude-y"}), begun(1, type="text", text="x"), *ending()
    )

    assert turn.model == "claude-y"


async def test_halves_of_a_character_in_two_pieces_are_one_character() -> None:
    heard = Heard()
    pieces = [more(0, "text_delta", text="\ud83d"), more(0, "text_delta", text="\ude00!")]

    turn = await turn_of(START, begun(0, type="text", text=""), *pieces, *ending(), heard=heard)

    assert turn.parts == [TextPart(text="😀!")]
    assert heard.joined("text").encode().decode() == "\ufffd\ufffd!"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([STOP], "holds no event message_start"),
        ([START, more(3, "text_delta", text="x")], "continues block 3, which it has not begun"),
    ],
)
async def test_events_out_of_order_are_malformed(events: list[Any], said: str) -> None:
    with pytest.raises(MalformedAnswer, match=said):
        await turn_of(*events)


async def test_an_event_that_is_no_json_is_malformed() -> None:
    with pytest.raises(MalformedAnswer, match="holds no JSON object but"):
        await answered(Stream([b'event: message_start\ndata: {"type\n\n']))
