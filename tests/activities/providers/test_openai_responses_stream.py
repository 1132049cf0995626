"""What events of a streamed Responses answer are put together into, for servers that stream in odd ways."""

import json
from typing import Any

import pytest

from activities.providers.errors import ModelError, NotFound, Overloaded, QuotaExhausted, RateLimited, TimedOut
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.openai_responses_stream import responses_answer
from tests.activities.providers.openai_streams import Watcher, sdk_at, sent_as
from tests.activities.providers.openai_wire import request
from tests.streaming import Stream, serving
from workflows.contracts import CallPart, Entry, JsonObject, Message, Native, Result, Turn

CREATED: JsonObject = {
    "type": "response.created",
    "response": {"id": "resp_1", "model": "gpt-x", "status": "in_progress", "output": [], "store": True},
}
SAID: JsonObject = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
CALL: JsonObject = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"}


def done(index: int, item: JsonObject) -> JsonObject:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def added(index: int, item: JsonObject) -> JsonObject:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def end(name: Any = "completed", **response: Any) -> JsonObject:
    return {"type": f"response.{name}", "response": {"id": "resp_1", "status": name, **response}}


async def answer(*events: JsonObject | str, watcher: Watcher | None = None) -> Any:
    return await responses_answer(sent_as(*events), "m", watcher or Watcher())


async def test_the_last_event_is_the_answer_where_it_is_whole() -> None:
    found = await answer(CREATED, done(0, {**SAID, "id": "other"}), end(output=[SAID], usage={"input_tokens": 3}))

    assert (found["output"], found["usage"], found["status"]) == ([SAID], {"input_tokens": 3}, "completed")


@pytest.mark.parametrize("last", [{"output": []}, {}, {"output": [CALL]}], ids=["empty", "missing", "shorter"])
async def test_an_end_without_all_items_is_completed_by_their_own_events_in_their_order(last: JsonObject) -> None:
    found = await answer(CREATED, done(1, CALL), done(0, SAID), end(**last))

    assert found["output"] == [SAID, CALL]
    assert (found["id"], found["model"], found["store"]) == ("resp_1", "gpt-x", True)


async def test_items_that_only_come_in_pieces_are_put_together() -> None:
    custom: JsonObject = {"type": "custom_tool_call", "call_id": "call_2", "name": "sql", "input": ""}
    found = await answer(
        CREATED,
        added(0, {"type": "message", "role": "assistant", "content": []}),
        {"type": "response.content_part.done", "output_index": 0, "part": {"type": "output_text", "text": "hi"}},
        added(1, {**CALL, "arguments": ""}),
        added(2, custom),
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "x", "delta": "{"},
        {"type": "response.custom_tool_call_input.delta", "output_index": 2, "item_id": "y", "delta": "SELECT \ud83d"},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "z", "delta": "}"},
        {"type": "response.custom_tool_call_input.delta", "output_index": 2, "item_id": "w", "delta": "\ude00"},
        {"type": "response.function_call_arguments.done", "output_index": 1, "item_id": "v", "arguments": "{}"},
        end(),
    )

    assert found["output"] == [SAID, CALL, {**custom, "input": "SELECT 😀"}]


async def test_items_and_events_of_unknown_types_are_kept_and_ignored() -> None:
    strange: JsonObject = {"type": "dream", "id": "dr_1", "content": {"deep": [1]}}

    found = await answer(
        CREATED, {"type": "response.dream.delta", "output_index": 0}, done(0, strange), {"type": "keepalive"}, end()
    )

    assert found["output"] == [strange]


async def test_the_name_of_an_event_stands_in_for_a_missing_type_and_status() -> None:
    found = await answer({**end(output=[SAID]), "response": {"status": "in_progress", "output": [SAID]}})

    assert (found["status"], found["output"]) == ("completed", [SAID])


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "server_error", "message": "Sorry."}, Overloaded),
        ({"type": "error", "error": {"type": "insufficient_quota", "message": "No money."}}, QuotaExhausted),
        ({"error": {"code": "rate_limit_exceeded", "message": "Slow down."}}, RateLimited),
        (end("failed", error={"code": "server_error", "message": "Sorry."}), Overloaded),
        (end("failed", error=None), Overloaded),
        (end("failed", error={"code": "previous_response_not_found", "message": "Gone."}), NotFound),
    ],
    ids=["flat", "nested", "no event at all", "failed", "failed without a reason", "gone"],
)
async def test_an_error_inside_a_stream_is_read_like_an_error_body(event: JsonObject, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        await answer(CREATED, done(0, SAID), event)

    assert type(caught.value) is kind


async def test_done_is_no_end_of_this_api() -> None:
    with pytest.raises(Overloaded, match=r"stream of m ended before an event that ends an answer"):
        await answer(CREATED, done(0, SAID), "[DONE]")


async def test_thinking_text_and_calls_are_shown_as_they_come() -> None:
    watcher = Watcher()

    def said(name: str, delta: str) -> JsonObject:
        return {"type": f"response.{name}.delta", "output_index": 0, "delta": delta}

    await answer(
        CREATED,
        said("reasoning_summary_text", "First."),
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        said("reasoning_summary_text", "Second."),
        added(1, {"type": "web_search_call"}),
        said("output_text", "I "),
        said("refusal", "can't."),
        added(2, CALL),
        end(output=[SAID]),
        watcher=watcher,
    )

    assert watcher.said == [
        ("reasoning", "First.\nSecond."),
        ("call", "web_search_call"),
        ("text", "I can't."),
        ("call", "add"),
    ]


# --- over HTTP


def stream(*events: JsonObject, **more: Any) -> Stream:
    return Stream([f"data: {json.dumps(each)}\n\n".encode() for each in events], **more)


CHAINED: list[Entry] = [
    Message(text="Go"),
    Turn(
        parts=[CallPart(id="c1-1", provider_id="call_1", tool="add", arguments={})],
        native=Native(api="openai_responses", items=[CALL], response_id="resp_0"),
    ),
    Result(call="c1-1", tool="add", content="5"),
]


async def test_a_history_that_is_refused_is_sent_again_in_the_next_form_as_a_stream_too() -> None:
    gone = {"error": {"code": "previous_response_not_found", "message": "Previous response not found."}}
    refusal = Stream([json.dumps(gone).encode()], status=400, content_type="application/json")
    async with serving(refusal, stream(CREATED, end(output=[SAID]))) as server:
        provider = OpenAIResponses(sdk_at(server))
        turn = await provider.complete(request(CHAINED, live=Watcher()))
        await provider.close()

    assert turn.text == "hi"
    assert [("previous_response_id" in body, body["stream"]) for body in server.sent] == [(True, True), (False, True)]


async def test_a_server_that_ignores_stream_is_read_as_a_whole_answer() -> None:
    whole = {"id": "resp_1", "status": "completed", "output": [SAID]}
    async with serving(Stream([json.dumps(whole).encode()], content_type="application/json")) as server:
        provider = OpenAIResponses(sdk_at(server))
        turn = await provider.complete(request(live=Watcher()))
        await provider.close()

    assert turn.text == "hi"


async def test_silence_is_a_time_out() -> None:
    async with serving(stream(CREATED, then="silence")) as server:
        provider = OpenAIResponses(sdk_at(server))
        with pytest.raises(TimedOut, match=r"silent for 0\.05 seconds"):
            await provider.complete(request(live=Watcher(), idle_seconds=0.05))
        await provider.close()
