"""What pieces of a streamed Chat Completions answer are put together into, for servers that stream in odd ways."""

import asyncio
import json
from typing import Any

import pytest

from activities.providers import json_text
from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    Overloaded,
    RateLimited,
    Rejected,
    TimedOut,
    ToolUseFailed,
)
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_chat_stream import chat_answer
from tests.activities.providers.openai_streams import Watcher, sdk_at, sent_as
from tests.activities.providers.openai_wire import request
from tests.streaming import Stream, serving
from tests.waiting import until
from workflows.contracts import JsonObject, Turn, Usage


def delta(finish: str | None = None, **fields: Any) -> JsonObject:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(index: int | None = None, call_id: str | None = None, name: str | None = None, **function: Any) -> JsonObject:
    """A delta with one piece of a tool call."""
    call: JsonObject = {"function": {**({"name": name} if name is not None else {}), **function}}
    call |= {"index": index} if index is not None else {}
    call |= {"id": call_id} if call_id is not None else {}
    return delta(tool_calls=[call])


END = delta("stop")


async def message(*chunks: JsonObject, watcher: Watcher | None = None) -> Any:
    """The message that these chunks are put together into."""
    answer: Any = await chat_answer(sent_as(*chunks, END, "[DONE]"), "m", watcher or Watcher())
    return answer["choices"][0]["message"]


async def calls(*chunks: JsonObject) -> list[tuple[str | None, str, Any]]:
    found = (await message(*chunks))["tool_calls"]
    return [(call.get("id"), call["function"]["name"], call["function"].get("arguments")) for call in found]


async def test_pieces_of_one_index_are_one_call_whatever_their_order() -> None:
    assert await calls(
        piece(1, "b", "second"),
        piece(0, "a", "first", arguments="{"),
        piece(1, arguments="{}"),
        piece(0, arguments="}"),
    ) == [("b", "second", "{}"), ("a", "first", "{}")]


async def test_empty_and_repeated_names_and_ids_change_nothing() -> None:
    assert await calls(
        piece(0, "a", "look"), piece(0, "", "", arguments="{"), piece(0, "a", "look", arguments="}")
    ) == [("a", "look", "{}")]


async def test_calls_that_all_come_under_index_0_are_told_apart_by_id_and_name() -> None:
    assert await calls(
        piece(0, "a", "look", arguments="{}"), piece(0, "b", "look", arguments='{"x":'), piece(0, arguments="1}")
    ) == [("a", "look", "{}"), ("b", "look", '{"x":1}')]


async def test_an_id_that_changes_with_each_piece_begins_no_call() -> None:
    assert await calls(piece(0, "a", "look", arguments="{"), piece(0, "b", arguments="}")) == [("a", "look", "{}")]


async def test_calls_without_index_are_told_apart_by_their_ids() -> None:
    assert await calls(
        piece(None, "a", "look"),
        piece(None, "b", "look"),
        piece(None, "a", arguments="{}"),
        piece(None, "b", arguments=""),
    ) == [("a", "look", "{}"), ("b", "look", "")]


async def test_calls_with_neither_index_nor_id_are_told_apart_by_their_names() -> None:
    assert await calls(
        piece(name="look"), piece(name="look", arguments="{"), piece(arguments="}"), piece(name="look", arguments="{}")
    ) == [(None, "look", "{}"), (None, "look", "{}")]


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": ""}], ids=["missing", "null", "empty"])
async def test_a_call_without_arguments_has_none(arguments: dict[str, Any]) -> None:
    assert [found[2] or None for found in await calls(piece(0, "a", "look", **arguments))] == [None]


async def test_arguments_that_come_as_an_object_are_written_as_json() -> None:
    assert await calls(piece(0, "a", "look", arguments={"city": "Köln"})) == [("a", "look", '{"city": "Köln"}')]


async def test_a_character_that_is_cut_into_surrogates_is_one_again() -> None:
    high, low = "\ud83d", "\ude00"
    found = await message(
        delta(content=f"a{high}"),
        delta(content=f"{low}b"),
        delta(reasoning=high),
        delta(reasoning=low),
        piece(0, "a", "look", arguments=f'{{"x": "{high}'),
        piece(0, arguments=f'{low}"}}'),
    )

    assert (found["content"], found["reasoning"]) == ("a😀b", "😀")
    assert found["tool_calls"][0]["function"]["arguments"] == '{"x": "😀"}'


async def test_a_vendors_own_fields_of_a_call_are_kept() -> None:
    extra = {"google": {"thought_signature": "c2lnbmVk"}}
    found = await message(
        delta(
            tool_calls=[{"index": 0, "id": "a", "type": "function", "function": {"name": "f"}, "extra_content": extra}]
        ),
        piece(0, arguments="{}"),
    )

    assert found["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    ]


async def test_the_input_of_a_custom_tool_is_joined_as_raw_text() -> None:
    begun = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": ""}}
    found = await message(
        delta(tool_calls=[begun]),
        delta(tool_calls=[{"index": 0, "custom": {"input": "SELECT "}}]),
        delta(tool_calls=[{"index": 0, "custom": {"input": "1"}}]),
    )

    assert found["tool_calls"] == [{"id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]


async def test_a_legacy_function_call_is_joined() -> None:
    watcher = Watcher()
    found = await message(
        delta(function_call={"name": "look", "arguments": ""}),
        delta(function_call={"arguments": '{"a"'}),
        delta(function_call={"arguments": ":1}"}),
        watcher=watcher,
    )

    assert found["function_call"] == {"name": "look", "arguments": '{"a":1}'}
    assert watcher.said == [("call", "look")]


async def test_a_text_that_no_turn_takes_is_not_put_together_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LONGEST_TEXT", 10)

    for pieces in (delta(content="x" * 6), delta(reasoning_content="x" * 6), piece(0, "a", "look", arguments="x" * 6)):
        with pytest.raises(MalformedAnswer, match="more than 10 characters"):
            await message(*[pieces] * 3)


async def test_a_refusal_is_joined_and_shown_as_text() -> None:
    watcher = Watcher()

    found = await message(delta(refusal="I "), delta(content=None, refusal="can't."), watcher=watcher)

    assert (found["content"], found["refusal"]) == (None, "I can't.")
    assert watcher.said == [("text", "I can't.")]


async def test_thinking_in_two_fields_is_kept_in_both_and_shown_once() -> None:
    watcher = Watcher()
    found = await message(
        delta(reasoning="a", reasoning_details=[{"type": "reasoning.text", "text": "a", "index": 0}]),
        delta(reasoning="b", reasoning_details=[{"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "e1", "index": 1}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "e2", "index": 1}], reasoning_content=None),
        watcher=watcher,
    )

    assert found["reasoning"] == "ab"
    assert found["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "e1", "index": 1},
        {"type": "reasoning.encrypted", "data": "e2", "index": 1},
    ]
    assert watcher.said == [("reasoning", "ab")]


async def test_content_that_comes_as_parts_is_one_part_for_each_thought_and_text() -> None:
    watcher = Watcher()

    def thinking(text: str) -> JsonObject:
        return delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": text}]}])

    found = await message(
        delta(content=""),
        thinking("Let "),
        thinking("me."),
        delta(content="Hi "),
        delta(content=[{"type": "text", "text": "you"}]),
        watcher=watcher,
    )

    assert found["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Let me."}]},
        {"type": "text", "text": "Hi you"},
    ]
    assert watcher.said == [("reasoning", "Let me."), ("text", "Hi you")]


async def test_a_message_that_is_repeated_beside_its_pieces_is_not_read_twice() -> None:
    def both(text: str, whole: str) -> JsonObject:
        return {"choices": [{"index": 0, "delta": {"content": text}, "message": {"content": whole}}]}

    assert (await message(both("a", "a"), both("b", "ab"), both("", "ab")))["content"] == "ab"


async def test_a_message_that_comes_whole_in_one_event_is_read() -> None:
    assert (await message({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}))["content"] == "hi"


async def test_other_choices_than_the_first_are_left_out() -> None:
    second: JsonObject = {"choices": [{"index": 1, "delta": {"content": "other"}}]}

    assert (await message(delta(content="a"), second, delta(content="b")))["content"] == "ab"


async def test_the_last_usage_counts_and_nothing_in_its_place_does_not() -> None:
    answer = await chat_answer(
        sent_as(
            delta(content="a") | {"usage": {"prompt_tokens": 1}},
            END | {"usage": {"prompt_tokens": 5, "completion_tokens": 2}},
            {"choices": [], "usage": None},
            "[DONE]",
        ),
        "m",
        Watcher(),
    )

    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"message": "down", "type": "server_error"}}, Overloaded),
        ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, RateLimited),
        ({"error": {"message": "bad", "type": "invalid_request_error"}}, Rejected),
        ({"error": {"message": "bad call", "code": "tool_use_failed"}}, ToolUseFailed),
        (delta("error") | {"error": {"message": "Provider returned error", "code": 502}}, Overloaded),
        ({"object": "error", "message": "too long: maximum context length is 10 tokens", "code": 400}, Rejected),
        ({"error": "model ran out of memory"}, Overloaded),
    ],
    ids=["server", "rate", "request", "tool use", "code in the body", "an object of its own", "a text"],
)
async def test_an_error_inside_a_stream_is_read_like_an_error_body(event: JsonObject, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        await chat_answer(sent_as(delta(content="a"), event, END, "[DONE]"), "m", Watcher())


# --- over HTTP


def events(*chunks: JsonObject | str) -> list[bytes]:
    return [f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n".encode() for each in chunks]


async def ask(
    *streams: Stream, base_url: str = "https://api.openai.com/v1", **fields: Any
) -> tuple[Turn, dict[str, Any]]:
    async with serving(*streams) as server:
        provider = OpenAIChat(sdk_at(server, base_url))
        try:
            return await provider.complete(request(**{"live": Watcher(), **fields})), server.sent[0]
        finally:
            await provider.close()


HI = Stream(events(delta(content="hi"), END, "[DONE]"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("api.openai.com", {"include_usage": True}),
        ("localhost:1234", {"include_usage": True}),
        ("api.mistral.ai", None),
    ],
)
async def test_usage_is_asked_for_where_the_vendor_takes_that(host: str, expected: Any) -> None:
    turn, sent = await ask(HI, base_url=f"https://{host}/v1")

    assert turn.text == "hi"
    assert (sent["stream"], sent.get("stream_options")) == (True, expected)


async def test_stream_options_of_the_settings_stay() -> None:
    _, sent = await ask(HI, settings={"stream_options": {"include_obfuscation": False}})

    assert sent["stream_options"] == {"include_obfuscation": False, "include_usage": True}


WHOLE = {
    "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}


async def test_a_server_that_ignores_stream_is_read_as_a_whole_answer() -> None:
    turn, sent = await ask(Stream([json.dumps(WHOLE).encode()], content_type="application/json"))

    assert sent["stream"] is True
    assert turn.text == "hi"
    assert turn.usage == Usage(input_tokens=3, output_tokens=1, model_calls=1)


@pytest.mark.parametrize(
    "fields", [{"live": None}, {"settings": {"stream": False}}], ids=["nobody watches", "the settings forbid it"]
)
async def test_a_request_that_is_not_to_be_streamed_asks_for_no_stream(fields: dict[str, Any]) -> None:
    _, sent = await ask(Stream([json.dumps(WHOLE).encode()], content_type="application/json"), **fields)

    assert not sent.get("stream")
    assert "stream_options" not in sent


async def test_an_error_status_of_a_streamed_request_is_read_with_its_body() -> None:
    error = json.dumps({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}).encode()

    with pytest.raises(RateLimited, match="slow down") as caught:
        await ask(Stream([error], status=429, content_type="application/json"))

    assert caught.value.status == 429


async def test_a_connection_lost_before_the_end_gives_no_turn_and_is_retryable() -> None:
    with pytest.raises(Overloaded) as caught:
        await ask(Stream(events(delta(content="hi")), then="cut"))

    assert caught.value.retryable


async def test_a_connection_lost_behind_the_finish_reason_costs_the_usage_at_most() -> None:
    turn, _ = await ask(Stream(events(delta(content="hi"), END), then="cut"))

    assert (turn.text, turn.stop) == ("hi", "end")
    assert turn.usage == Usage(model_calls=1, unmeasured=1)


async def test_silence_is_a_time_out() -> None:
    with pytest.raises(TimedOut, match=r"silent for 0\.05 seconds"):
        await ask(Stream(events(delta(content="hi")), then="silence"), idle_seconds=0.05)


async def test_an_attempt_that_is_cancelled_closes_its_connection() -> None:
    watcher = Watcher()
    async with serving(Stream(events(delta(content="hi")), then="silence")) as server:
        provider = OpenAIChat(sdk_at(server))
        asking = asyncio.create_task(provider.complete(request(live=watcher)))

        async def said() -> bool:
            return bool(watcher.said)

        async def left() -> int:
            return server.left

        await until(said)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await until(left) == 1
        await provider.close()
