"""Recorded streams of Anthropic's Messages API, sent over a real connection in odd chunks, drive the adapter."""

from typing import Any

import pytest
from anthropic import AsyncAnthropic

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.protocol import ModelRequest
from tests.activities.providers.anthropic_wire import neutral, request_of
from tests.judge_anthropic import judge_messages
from tests.streaming import Heard, Stream, StreamServer, cut, serving
from tests.traffic import Exchange, Replay, exchanges, names, or_skipped
from workflows.contracts import Message, Turn, Usage

REFUSAL = "synthetic-fixtures-not-recordings/anthropic_refusal_stream"
STREAMED = [name for name in names(["anthropic"]) if all(each.sse for each in exchanges(name))]


def adapter(server: StreamServer) -> AnthropicMessages:
    return AnthropicMessages(AsyncAnthropic(api_key="test", base_url=server.url, max_retries=0))


async def drive(name: str) -> tuple[list[Exchange], list[Turn], list[Heard], list[Any]]:
    """The exchanges of a recording, the turns made of them, what was shown meanwhile, and the bodies sent."""
    recorded = exchanges(name)
    turns: list[Turn] = []
    heard: list[Heard] = []
    async with serving(*[Stream(cut(each.response_body)) for each in recorded]) as server:
        provider = adapter(server)
        for exchange in recorded:
            heard.append(Heard())
            turns.append(await provider.complete(live(request_of(exchange.request_body, turns), heard[-1])))
        await provider.close()
    return recorded, turns, heard, server.sent


def live(request: ModelRequest, heard: Heard) -> ModelRequest:
    settings = {key: value for key, value in request.settings.items() if key != "stream"}
    return ModelRequest(**{**vars(request), "settings": settings, "live": heard})


async def as_the_sdk_reads_it(exchange: Exchange) -> Any:
    """The message that the SDK assembles of the same stream: another reading than ours."""
    client = AsyncAnthropic(api_key="test", http_client=Replay(exchange).client(), max_retries=0)
    asked: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    async with client.messages.stream(**asked) as stream:
        message = await stream.get_final_message()
    return message.to_dict(mode="json")


@pytest.mark.parametrize("name", or_skipped(STREAMED))
async def test_the_request_sent_equals_the_one_that_was_accepted(name: str) -> None:
    recorded, _, _, sent = await drive(name)

    for exchange, body in zip(recorded, sent, strict=True):
        assert exchange.request_body["stream"] is body.pop("stream") is True
        judge_messages(body)
        assert neutral(body) == neutral(exchange.request_body)


@pytest.mark.parametrize("name", or_skipped(STREAMED))
async def test_the_blocks_are_those_that_the_sdk_assembles(name: str) -> None:
    for exchange in exchanges(name):
        turn, _ = await answered(Stream(cut(exchange.response_body)))
        expected = await as_the_sdk_reads_it(exchange)

        assert turn.native is not None
        assert turn.native.items == expected["content"]
        assert turn.model == expected["model"]
        assert turn.usage.output_tokens == expected["usage"]["output_tokens"]


@pytest.mark.parametrize("name", or_skipped(STREAMED))
async def test_what_was_shown_is_what_the_turn_says(name: str) -> None:
    _, turns, heard, _ = await drive(name)

    for turn, shown in zip(turns, heard, strict=True):
        assert shown.joined("text") == turn.text
        assert shown.joined("reasoning") == "".join(part.text for part in turn.parts if part.kind == "reasoning")
        assert [name for name in shown.calls if name != "web_search"] == [call.tool for call in turn.calls]


async def answered(stream: Stream) -> tuple[Turn, Heard]:
    heard = Heard()
    request = ModelRequest(model="claude-x", instructions="", transcript=[Message(text="Hello")], live=heard)
    async with serving(stream) as server:
        provider = adapter(server)
        turn = await provider.complete(request)
        await provider.close()
    return turn, heard


async def test_calls_come_whole_with_the_ids_and_arguments_of_their_pieces() -> None:
    _, turns, heard, _ = await drive("anthropic/stream_parallel_tool_use")

    assert [(call.id, call.provider_id, call.tool, call.arguments) for call in turns[0].calls] == [
        ("c1-1", "toolu_01UYxUYC2zRPY8wiutnF48eP", "add", {"a": 2, "b": 3}),
        ("c1-2", "toolu_01VaRx1jpWCvPhi7L4kywAcd", "multiply", {"a": 2, "b": 3}),
    ]
    assert [turn.stop for turn in turns] == ["tool_calls", "end"]
    assert heard[0].calls == ["add", "multiply"]


async def test_an_empty_piece_of_input_means_no_arguments() -> None:
    _, turns, _, _ = await drive("anthropic/stream_tool_no_args_empty_partial_json")

    assert [call.arguments for call in turns[0].calls] == [{}]


async def test_a_signature_is_kept_on_its_thinking() -> None:
    _, turns, _, sent = await drive("anthropic/stream_thinking_tool_chain")

    assert turns[0].native is not None
    thinking = turns[0].native.items[0]
    assert isinstance(thinking, dict)
    assert str(thinking["signature"]).startswith("EoQDCm0IDhgCKkCDzGs2kL2P")
    assert sent[1]["messages"][1]["content"][0] == thinking


async def test_usage_is_the_last_that_the_stream_told() -> None:
    _, turns, _, _ = await drive("anthropic/stream_thinking_tool_chain")

    assert turns[0].usage == Usage(input_tokens=598, output_tokens=92, reasoning_tokens=53, model_calls=1)


async def test_a_refusal_without_any_block_is_a_refusal() -> None:
    (exchange,) = exchanges(REFUSAL)

    turn, heard = await answered(Stream(cut(exchange.response_body), content_type=None))

    assert (turn.stop, turn.parts, heard.pieces) == ("refusal", [], [])
    assert turn.stop_detail == (
        "cyber: This request triggered restrictions on violative cyber content and was blocked "
        "under Anthropic's Usage Policy."
    )
