"""The Chat Completions adapter on recorded exchanges: answers are replayed, and what it sends next must be what the
recorded provider accepted."""

import json
from typing import Any

import pytest

from tests.activities.providers.openai_traffic import CHAT_DIALOGUES, ERRORS
from tests.activities.providers.openai_wire import (
    base_url,
    chat,
    compared_chat,
    declared,
    request,
    responses,
    transcript_of_chat,
)
from tests.judge import judge_chat
from tests.traffic import Exchange, Replay, exchanges
from workflows.contracts import CallPart, Message, Result, TextPart, Turn, Usage


async def _replayed(recorded: list[Exchange]) -> tuple[list[Turn], list[dict[str, Any]]]:
    """Go through a recorded dialogue; the turns read and the bodies sent."""
    replay = Replay(*recorded)
    provider = chat(replay, base_url(recorded[0]))
    turns: list[Turn] = []
    for number, exchange in enumerate(recorded, start=1):
        messages = exchange.request_body["messages"]
        system = "\n".join(each["content"] for each in messages if each["role"] == "system")
        transcript = transcript_of_chat(messages, turns)
        asked = request(transcript, instructions=system, tools=declared(exchange), turn=number)
        turns.append(await provider.complete(asked))
    return turns, replay.sent


@pytest.mark.parametrize("name", CHAT_DIALOGUES)
async def test_each_next_request_says_what_the_recorded_one_said(name: str) -> None:
    recorded = exchanges(name)

    turns, sent = await _replayed(recorded)

    for body, exchange in zip(sent, recorded, strict=True):
        judge_chat(body)
        assert compared_chat(body["messages"]) == compared_chat(exchange.request_body["messages"])
    assert turns[-1].text or turns[-1].calls


@pytest.mark.parametrize("name", ERRORS)
async def test_each_recorded_error_becomes_its_class(name: str) -> None:
    kind = ERRORS[name]
    for exchange in exchanges(name):
        replay = Replay(exchange)
        provider = responses(replay) if "responses" in name else chat(replay)

        with pytest.raises(kind) as caught:
            await provider.complete(request())

        assert type(caught.value) is kind
        assert caught.value.status == exchange.status
        assert caught.value.__cause__ is None
        assert len(replay.sent) == 1


async def test_reasoning_fields_of_vendors_go_back_verbatim() -> None:
    fields = {
        "ollama/local_qwen3_parallel_calls": "reasoning",
        "openrouter/parallel_calls_kimi_reasoning_text": "reasoning_details",
        "other-compatible/llamacpp_gpt_oss_reasoning_content": "reasoning_content",
    }
    for name, field in fields.items():
        recorded = exchanges(name)

        _, sent = await _replayed(recorded)

        answered = recorded[0].response_body["choices"][0]["message"][field]
        assert next(each for each in sent[1]["messages"] if each["role"] == "assistant")[field] == answered


async def test_groq_gets_no_reasoning_back_since_it_rejects_the_field() -> None:
    recorded = exchanges("groq/tool_use_failed_400_then_recovery")
    replay = Replay(recorded[1], recorded[2])
    provider = chat(replay, base_url(recorded[1]))

    turn = await provider.complete(request())
    result = Result(call="c1-1", tool="get_something_by_name", content="found")
    await provider.complete(request([Message(text="Go"), turn, result], turn=2))

    assert "reasoning" in json.dumps(recorded[1].response_body)
    assert "reasoning" not in json.dumps(replay.sent[1])


async def test_forced_calls_that_end_with_stop_are_calls() -> None:
    turns, _ = await _first("openai-chat/finish_stop_with_tool_calls_forced")

    assert turns.stop == "tool_calls"
    assert turns.stop_detail == "stop"
    assert turns.calls == [
        CallPart(
            id="c1-1",
            provider_id="call_rZrjsNx6XbKuoi2BSaF7jHxE",
            tool="__mirascope_formatted_output_tool__",
            arguments={"output": 7},
        )
    ]


async def _first(name: str) -> tuple[Turn, Replay]:
    replay = Replay(exchanges(name)[0], exchanges(name)[0])
    return await chat(replay).complete(request()), replay


async def test_a_legacy_function_call_becomes_a_tool_call_under_our_id() -> None:
    turn, replay = await _first("openai-chat/legacy_function_call")

    result = Result(call="c1-1", tool="get_current_weather", content="15 °C")
    await chat(replay).complete(request([Message(text="Weather?"), turn, result]))

    judge_chat(replay.sent[1])
    function = {"name": "get_current_weather", "arguments": '{"location": "Boston"}'}
    assert replay.sent[1]["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1-1", "type": "function", "function": function}],
    }
    assert replay.sent[1]["messages"][2]["tool_call_id"] == "c1-1"


async def test_a_custom_tool_call_hands_over_raw_text_and_is_answered_by_a_tool_message() -> None:
    turn, replay = await _first("openai-chat/custom_tool_call_chat")

    await chat(replay).complete(request([Message(text="Go"), turn, Result(call="c1-1", tool="math_exp", content="no")]))

    judge_chat(replay.sent[1])
    call_id = "call_QpgJRI5C9DcjExMNU6lrJPcu"
    assert turn.calls == [CallPart(id="c1-1", provider_id=call_id, tool="math_exp", raw="4 + 4")]
    assert replay.sent[1]["messages"][1]["tool_calls"] == [
        {"id": call_id, "type": "custom", "custom": {"name": "math_exp", "input": "4 + 4"}}
    ]


async def test_a_missing_arguments_key_means_no_arguments_and_is_sent_back_as_an_object() -> None:
    turn, replay = await _first("openrouter/tool_call_without_arguments_key")

    result = Result(call="c1-1", tool="find_education_content", content="none")
    await chat(replay).complete(request([Message(text="Go"), turn, result]))

    judge_chat(replay.sent[1])
    assert turn.calls[0].arguments == {}
    assert turn.parts[0] == TextPart(text="I'll search for education content for you.")
    assert replay.sent[1]["messages"][1]["tool_calls"][0]["function"] == {
        "name": "find_education_content",
        "arguments": "{}",
    }


async def test_groqs_failed_tool_use_is_a_turn_that_the_model_can_mend() -> None:
    recorded = exchanges("groq/tool_use_failed_400_then_recovery")
    replay = Replay(*recorded)
    provider = chat(replay, base_url(recorded[0]))

    failed = await provider.complete(request())
    error = Result(call="c1-1", tool="get_something_by_name", content="the arguments do not fit", status="error")
    mended = await provider.complete(request([Message(text="Go"), failed, error], turn=2))

    judge_chat(replay.sent[1])
    raw = recorded[0].response_body["error"]["failed_generation"]
    assert failed.calls == [CallPart(id="c1-1", tool="get_something_by_name", raw=raw)]
    assert failed.native is None
    assert failed.stop == "tool_calls"
    assert failed.usage == Usage(model_calls=1, unmeasured=1)
    assert mended.calls[0].arguments == {"name": "test"}
    assert replay.sent[1]["messages"][2]["content"] == "Error: the arguments do not fit"


async def test_a_failed_tool_use_that_is_plain_text_calls_an_unknown_tool() -> None:
    recorded = exchanges("groq/tool_choice_required_not_called_400")
    replay = Replay(*recorded)

    failed = await chat(replay).complete(request())
    error = Result(call="c1-1", tool="unknown", content="there is no such tool", status="error")
    mended = await chat(replay).complete(request([Message(text="Go"), failed, error], turn=2))

    judge_chat(replay.sent[1])
    assert failed.calls == [CallPart(id="c1-1", tool="unknown", raw="maybe")]
    assert json.loads(replay.sent[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {
        "malformed_arguments": "maybe"
    }
    assert mended.calls[0].arguments == {"response": "yes"}


async def test_zero_fields_of_unused_features_are_neither_read_nor_sent_back() -> None:
    recorded = exchanges("other-compatible/snowflake_empty_finish_reason_and_zero_fields")

    turns, sent = await _replayed(recorded)

    assert [part.kind for turn in turns for part in turn.parts] == ["call", "text"]
    assert [turn.stop for turn in turns] == ["tool_calls", "end"]
    assistant = sent[1]["messages"][1]
    assert set(assistant) == {"role", "content", "tool_calls"}
    assert set(assistant["tool_calls"][0]) == {"id", "type", "function"}


async def test_three_identical_calls_stay_three_calls() -> None:
    turns, sent = await _replayed(exchanges("deepseek/three_identical_parallel_calls"))

    assert [call.id for call in turns[0].calls] == ["c1-1", "c1-2", "c1-3"]
    assert len({message["tool_call_id"] for message in sent[1]["messages"] if message["role"] == "tool"}) == 3


async def test_usage_counts_reasoning_once_whether_the_vendor_puts_it_inside_or_beside() -> None:
    beside, _ = await _first("xai/chat_parallel_calls")
    inside, _ = await _first("openrouter/parallel_calls_kimi_reasoning_text")
    mistral, _ = await _first("mistral/tool_call_without_type")

    assert beside.usage == Usage(
        input_tokens=436, output_tokens=68 + 148, cached_tokens=152, reasoning_tokens=148, model_calls=1
    )
    assert inside.usage == Usage(input_tokens=129, output_tokens=86, reasoning_tokens=51, model_calls=1)
    assert mistral.usage == Usage(input_tokens=152, output_tokens=12, cached_tokens=151, model_calls=1)
