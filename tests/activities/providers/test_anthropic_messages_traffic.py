"""Recorded answers drive the adapter; what it sends next is held against what the API was recorded to accept."""

from typing import Any

import pytest
from anthropic import AsyncAnthropic

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.errors import ContextTooLong, ModelError, NotFound, Rejected
from activities.providers.protocol import ModelRequest
from tests.activities.providers.anthropic_wire import is_anthropic, neutral, request_of
from tests.judge_anthropic import judge_messages
from tests.traffic import Exchange, Replay, exchanges, names, or_skipped, require_traffic
from workflows.contracts import Message, Turn, Usage

STREAMING_ONLY = {
    "anthropic/redacted_thinking_stream",
    "anthropic/server_web_search_result_ordering",
    "anthropic/stream_parallel_tool_use",
    "anthropic/stream_thinking_tool_chain",
    "anthropic/stream_tool_no_args_empty_partial_json",
    "synthetic-fixtures-not-recordings/anthropic_refusal_stream",
}
"""Driven by test_anthropic_stream_traffic.py."""

NO_REQUEST = {
    "synthetic-fixtures-not-recordings/anthropic_fallback_block",
    "synthetic-fixtures-not-recordings/anthropic_refusal_stop_details",
}
"""Upstream kept the answer alone."""

ERRORS: dict[str, tuple[type[ModelError], str]] = {
    "anthropic/error_bad_effort_400": (Rejected, "does not support effort level 'xhigh'"),
    "anthropic/error_model_404": (NotFound, "this-model-does-not-exist-12345"),
    "anthropic/error_prompt_too_long_400": (ContextTooLong, "3333404 tokens > 200000 maximum"),
    "anthropic/error_wrong_shape_400": (Rejected, "Input does not match the expected shape"),
}


def all_names() -> list[str]:
    """Every recording with an exchange at Anthropic, and the synthetic answers of its shape."""
    folders = ["anthropic", "cross-provider", "durable-runs", "synthetic-fixtures-not-recordings"]
    return [name for name in names(folders) if "/anthropic_" in name or any(map(is_anthropic, exchanges(name)))]


DRIVEN = [name for name in all_names() if name not in STREAMING_ONLY | NO_REQUEST | ERRORS.keys()]


def client(replay: Replay) -> AsyncAnthropic:
    return AsyncAnthropic(
        api_key="test", base_url="https://api.anthropic.com", http_client=replay.client(), max_retries=0
    )


async def drive(name: str) -> tuple[list[Exchange], list[Turn], list[Any]]:
    """The exchanges of a recording at Anthropic, the turns that the adapter made of them, and the bodies it sent."""
    recorded = exchanges(name)
    replay = Replay(*filter(is_anthropic, recorded))
    provider = AnthropicMessages(client(replay))
    answered: list[Turn | None] = []
    turns: list[Turn] = []
    for exchange in recorded:
        if is_anthropic(exchange):
            fits = len([m for m in exchange.request_body["messages"] if m["role"] == "assistant"]) >= len(answered)
            turns.append(await provider.complete(request_of(exchange.request_body, answered if fits else [])))
            answered.append(turns[-1])
        else:
            answered.append(None)
    await provider.close()
    return [each for each in recorded if is_anthropic(each)], turns, replay.sent


def test_each_recording_is_driven_or_named_with_a_reason() -> None:
    require_traffic()
    known = {*DRIVEN, *STREAMING_ONLY, *NO_REQUEST, *ERRORS}

    assert known == set(all_names())
    assert all(each.sse for name in STREAMING_ONLY for each in exchanges(name))
    assert not any(each.sse for name in DRIVEN for each in exchanges(name) if is_anthropic(each))


@pytest.mark.parametrize("name", or_skipped(DRIVEN))
async def test_the_request_sent_equals_the_one_that_was_accepted(name: str) -> None:
    recorded, _, sent = await drive(name)

    for exchange, body in zip(recorded, sent, strict=True):
        judge_messages(body)
        assert neutral(body) == neutral(exchange.request_body)


@pytest.mark.parametrize("name", or_skipped(DRIVEN))
async def test_an_answers_blocks_are_kept_verbatim(name: str) -> None:
    recorded, turns, _ = await drive(name)

    for exchange, turn in zip(recorded, turns, strict=True):
        assert turn.native is not None
        assert turn.native.items == exchange.response_body["content"]
        assert turn.model == exchange.response_body["model"]
        assert [call.provider_id for call in turn.calls] == [
            block["id"] for block in exchange.response_body["content"] if block["type"] == "tool_use"
        ]
        assert Turn.model_validate_json(turn.model_dump_json()) == turn


@pytest.mark.parametrize("name", ERRORS)
async def test_a_recorded_error_becomes_one_of_ours_after_a_single_request(name: str) -> None:
    kind, text = ERRORS[name]
    (exchange,) = exchanges(name)
    replay = Replay(exchange)

    with pytest.raises(ModelError, match=text) as raised:
        await AnthropicMessages(client(replay)).complete(
            ModelRequest(model="claude-sonnet-4-5", instructions="", transcript=[Message(text="Hello")])
        )

    assert type(raised.value) is kind
    assert not raised.value.retryable
    assert len(replay.sent) == 1


async def turns_of(name: str) -> list[Turn]:
    return (await drive(name))[1]


async def test_stop_reasons_as_recorded() -> None:
    require_traffic()
    stops = {name: [(turn.stop, turn.stop_detail) for turn in await turns_of(name)] for name in DRIVEN}

    assert stops["anthropic/parallel_tool_use_with_text"] == [("tool_calls", None), ("end", None)]
    assert stops["anthropic/pause_turn_continue"] == [("pause", None), ("end", None)]
    assert stops["anthropic/max_tokens"] == [("max_tokens", None)]
    assert stops["anthropic/stop_sequence"] == [("end", "4242")]
    assert stops["anthropic/empty_content_end_turn"] == [("end", None)]


async def test_cached_tokens_are_part_of_the_input() -> None:
    first, second = await turns_of("anthropic/cache_usage_two_calls")

    assert first.usage == Usage(input_tokens=1114, cached_tokens=1111, output_tokens=406, model_calls=1)
    assert second.usage == Usage(
        input_tokens=1532, cached_tokens=1111, cache_write_tokens=418, output_tokens=33, model_calls=1
    )


async def test_a_compaction_pass_is_counted() -> None:
    (turn,) = await turns_of("anthropic/compaction_block")

    assert turn.usage == Usage(input_tokens=99195 + 162, output_tokens=81 + 11, model_calls=1)


async def test_server_and_mcp_calls_are_no_calls_of_ours() -> None:
    (web,) = await turns_of("anthropic/in_flight_server_tool_plus_client_tool")
    (code,) = await turns_of("anthropic/server_code_execution")
    search, _ = await turns_of("anthropic/tool_search_server_then_client_call")

    assert (web.calls, code.calls) == ([], [])
    assert [(call.id, call.tool) for call in search.calls] == [("c1-1", "get_exchange_rate")]


async def test_identical_failing_calls_keep_ids_of_their_own() -> None:
    first, second, _ = await turns_of("anthropic/tool_error_then_retry_loop")

    assert [call.id for turn in (first, second) for call in turn.calls] == ["c1-1", "c2-1"]


async def synthetic(name: str) -> Turn:
    (exchange,) = exchanges(f"synthetic-fixtures-not-recordings/{name}")
    request = ModelRequest(model="claude-fable-5", instructions="", transcript=[Message(text="Hello")])
    return await AnthropicMessages(client(Replay(exchange))).complete(request)


async def test_a_refusal_tells_its_category_and_explanation() -> None:
    turn = await synthetic("anthropic_refusal_stop_details")

    assert (turn.stop, turn.parts) == ("refusal", [])
    assert turn.stop_detail == (
        "cyber: This request triggered restrictions on violative cyber content and was blocked "
        "under Anthropic's Usage Policy."
    )


async def test_an_unknown_block_is_kept_and_every_pass_of_a_fallback_is_counted() -> None:
    turn = await synthetic("anthropic_fallback_block")

    assert turn.native is not None
    assert [item["type"] for item in turn.native.items if isinstance(item, dict)] == ["fallback", "text"]
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (820, 264)
    assert turn.model != "claude-fable-5"
