"""How a streamed answer of Google's generateContent API becomes a turn, over a real connection and in odd chunks."""

import asyncio
import functools
import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Rejected,
    TimedOut,
)
from activities.providers.google_answer import read_answer
from activities.providers.google_generate_content import GoogleGenerateContent
from activities.providers.google_stream import assemble
from activities.providers.sse import answer_of
from tests.activities.providers.google_traffic import camel, neutral, request_of
from tests.activities.providers.google_wire import SIGNATURE, call, candidate, request, turn_of
from tests.judge_google import judge_contents
from tests.streaming import Heard, Stream, StreamServer, cut, serving
from tests.traffic import exchanges
from tests.waiting import until
from workflows.contracts import Message, ReasoningPart, Result, TextPart, Turn, Usage

MODEL = "gemini-3-pro-preview"
ASK = Message(text="Add 2 and 3")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "test-key")


def chunk(*parts: Any, **fields: Any) -> dict[str, Any]:
    """A chunk of an answer that goes on."""
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "index": 0}], **fields}


def last(*parts: Any, reason: str = "STOP") -> dict[str, Any]:
    return {**candidate(*parts, reason=reason), "modelVersion": "gemini-x"}


def partial(*pieces: Any, goes_on: bool = True, **made: Any) -> dict[str, Any]:
    """A part with some of a call."""
    more: dict[str, Any] = {"partialArgs": [*pieces]} if pieces else {}
    return {"functionCall": {**made, **more, **({"willContinue": True} if goes_on else {})}}


def at(path: str, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value}


def written(*chunks: Any) -> str:
    return "".join(f"data: {json.dumps(each)}\r\n\r\n" for each in chunks)


CALLING = [
    chunk({"text": "Hm, ", "thought": True}),
    chunk({"text": "ä€😀.", "thought": True}, {"text": "Let me "}),
    chunk({"text": "add."}, usageMetadata={"promptTokenCount": 9}),
    chunk(call("add", {"a": 2}, signature=SIGNATURE)),
    chunk(call("add", {"a": 3}), {"executableCode": {"code": "1"}}),
    last({"text": ""}),
]


def adapter(server: StreamServer, monkeypatch: pytest.MonkeyPatch) -> GoogleGenerateContent:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    return GoogleGenerateContent.from_environment()


async def answered(stream: Stream, heard: Heard | None = None, **fields: Any) -> Turn:
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with serving(stream) as server:
            provider = adapter(server, monkeypatch)
            try:
                return await provider.complete(request(live=heard or Heard(), **fields))
            finally:
                await provider.close()


async def streamed(*chunks: Any, heard: Heard | None = None) -> Turn:
    return await answered(Stream([written(*chunks).encode()]), heard)


async def parts_of(*chunks: Any) -> Any:
    native = (await streamed(*chunks)).native
    assert native is not None
    content = native.items[0]
    assert isinstance(content, dict)
    return content["parts"]


async def arguments_of(*pieces: Any) -> Any:
    (made,) = (await streamed(chunk(partial(*pieces, name="add")), last(partial(goes_on=False)))).calls
    return made.arguments


# --- recordings -------------------------------------------------------------------------------------


async def test_a_recorded_stream_of_calls_is_one_turn_whose_next_request_is_legal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (exchange,) = exchanges("gemini/gemini3_stream_tool_calls")
    asked = request_of(exchange, [], 0)
    heard = Heard()
    whole = Stream([json.dumps(last({"text": "Ok"})).encode()], content_type="application/json")
    async with serving(Stream(cut(exchange.response_body)), whole) as server:
        provider = adapter(server, monkeypatch)
        turn = await provider.complete(request(**{**vars(asked), "live": heard}))
        results = [Result(call=made.id, tool=made.tool, content="sunny") for made in turn.calls]
        transcript = [*asked.transcript, turn, *results]
        await provider.complete(request(**{**vars(asked), "transcript": transcript, "turn": 2}))
        await provider.close()
    first, second = server.sent

    assert neutral(first["contents"], True) == neutral(camel(exchange.request_body)["contents"], True)
    assert [path.rpartition(":")[2] for path in server.paths] == ["streamGenerateContent?alt=sse", "generateContent"]
    assert [(made.id, made.provider_id, made.arguments) for made in turn.calls] == [
        ("c1-1", "dv8szvqe", {"location": "Boston"}),
        ("c1-2", "j80tal12", {"location": "New Delhi"}),
    ]
    assert (turn.stop, turn.model, heard.calls) == ("tool_calls", "gemini-3.5-flash", ["get_weather", "get_weather"])
    assert turn.usage == Usage(input_tokens=71, output_tokens=33 + 93, reasoning_tokens=93, model_calls=1)
    judge_contents(second, signed=True)
    recorded = [json.loads(line[6:]) for line in exchange.response_body.split("\r\n") if line]
    assert second["contents"][1]["parts"] == [each["candidates"][0]["content"]["parts"][0] for each in recorded[:2]]


async def test_recorded_partial_arguments_become_whole_calls() -> None:
    (exchange,) = exchanges("gemini/stream_partial_args")
    heard = Heard()

    turn = await answered(Stream(cut(exchange.response_body), content_type=None), heard)

    assert [(made.tool, made.arguments) for made in turn.calls] == [
        ("getWeather", {"location": "Boston"}),
        ("getWeather", {"location": "San Francisco"}),
    ]
    assert heard.calls == ["getWeather", "getWeather"]
    assert (turn.stop, turn.usage.input_tokens, turn.usage.output_tokens) == ("tool_calls", 26, 23 + 132)
    assert turn.native is not None
    content = turn.native.items[0]
    assert isinstance(content, dict)
    assert isinstance(content["parts"], list)
    first, second = content["parts"]
    assert isinstance(first, dict)
    assert str(first.pop("thoughtSignature")).startswith("CiMBjz1rX25KieIB4d4AwFn8")
    assert first == {"functionCall": {"name": "getWeather", "args": {"location": "Boston"}}}
    assert second == {"functionCall": {"name": "getWeather", "args": {"location": "San Francisco"}}}


# --- whole turns ------------------------------------------------------------------------------------


async def test_a_stream_becomes_the_turn_that_the_whole_answer_would_be() -> None:
    whole = last(
        {"text": "Hm, ä€😀.", "thought": True},
        {"text": "Let me add."},
        call("add", {"a": 2}, signature=SIGNATURE),
        call("add", {"a": 3}),
        {"executableCode": {"code": "1"}},
    )

    assert await streamed(*CALLING) == await turn_of(whole)


async def test_an_answer_is_shown_while_it_comes() -> None:
    heard = Heard()

    await streamed(*CALLING, heard=heard)

    assert heard.pieces == [
        ("reasoning", "Hm, "),
        ("reasoning", "ä€😀."),
        ("text", "Let me "),
        ("text", "add."),
        ("call", "add"),
        ("call", "add"),
    ]


@functools.cache
def raw() -> bytes:
    return written(*CALLING).encode()


async def in_process(*chunks: bytes) -> Turn:
    """Without a client, for many examples."""

    async def content() -> Any:
        for each in chunks:
            yield each

    response = httpx2.Response(200, content=content(), request=httpx2.Request("POST", "http://host.invalid"))
    answer = await answer_of(response, functools.partial(assemble, model=MODEL, live=Heard()), 60.0)
    assert isinstance(answer, dict)
    return read_answer(answer, request())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1))
def test_the_turn_is_the_same_however_its_bytes_are_split(sizes: Sequence[int]) -> None:
    assert asyncio.run(in_process(*cut(raw(), *sizes))) == asyncio.run(in_process(raw()))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(raw()) - len("\r\n\r\n")))
def test_a_stream_that_is_cut_anywhere_is_no_turn(length: int) -> None:
    with pytest.raises(ModelError) as raised:
        asyncio.run(in_process(raw()[:length]))

    assert raised.value.retryable


async def test_a_signature_with_an_empty_text_stays_a_part_of_its_own() -> None:
    parts = await parts_of(
        chunk({"text": "a"}), chunk({"text": "b"}), last({"text": "", "thoughtSignature": SIGNATURE})
    )

    assert parts == [{"text": "ab"}, {"text": "", "thoughtSignature": SIGNATURE}]


async def test_texts_on_both_sides_of_a_signed_one_are_not_joined_with_it() -> None:
    signed = {"text": "b", "thoughtSignature": SIGNATURE}

    assert await parts_of(chunk({"text": "a"}), chunk(signed), last({"text": "c"})) == [
        {"text": "a"},
        signed,
        {"text": "c"},
    ]


async def test_thoughts_and_texts_are_told_apart() -> None:
    turn = await streamed(chunk({"text": "Hm.", "thought": True}), last({"text": "5"}))

    assert turn.parts == [ReasoningPart(text="Hm."), TextPart(text="5")]


async def test_the_last_usage_counts_and_what_it_leaves_out_stays() -> None:
    first = chunk({"text": "a"}, usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 1})
    end = {**last({"text": "b"}), "usageMetadata": {"candidatesTokenCount": 7, "thoughtsTokenCount": 3}}

    turn = await streamed(first, end)

    assert turn.usage == Usage(input_tokens=9, output_tokens=10, reasoning_tokens=3, model_calls=1)


async def test_a_blocked_prompt_has_no_candidate_and_is_no_cut_stream() -> None:
    turn = await streamed({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}})

    assert (turn.stop, turn.stop_detail) == ("content_filter", "the prompt was blocked: SAFETY")


async def test_an_answer_that_was_stopped_half_way_tells_why() -> None:
    turn = await streamed(chunk({"text": "a"}), {"candidates": [{"finishReason": "SAFETY"}]})

    assert (turn.stop, turn.stop_detail, turn.parts) == ("content_filter", "SAFETY", [TextPart(text="a")])


# --- partial arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ([], {}),
        ([at("$.a", numberValue=2)], {"a": 2}),
        ([at("$.a", boolValue=False), at("$.b", nullValue="NULL_VALUE")], {"a": False, "b": None}),
        (
            [at("$.a", stringValue="x", willContinue=True), at("$.a", stringValue="y"), at("$.b", stringValue="")],
            {"a": "xy", "b": ""},
        ),
        ([at("$.a.b.c", stringValue="x"), at("$.a.d", numberValue=1.5)], {"a": {"b": {"c": "x"}, "d": 1.5}}),
        (
            [
                at("$.to[0].name", stringValue="x"),
                at("$.to[0].age", numberValue=1),
                at("$.to[1].name", stringValue="y"),
            ],
            {"to": [{"name": "x", "age": 1}, {"name": "y"}]},
        ),
        ([at("$.grid[0][0]", numberValue=1), at("$.grid[0][1]", numberValue=2)], {"grid": [[1, 2]]}),
        (
            [at("$['a.b']", numberValue=1), at("$[\"c d\"]['e\\'f']", numberValue=2)],
            {"a.b": 1, "c d": {"e'f": 2}},
        ),
        (
            [at("$.a", stringValue="x", willContinue=True), at("$.b", numberValue=1), at("$.a", stringValue="y")],
            {"a": "xy", "b": 1},
        ),
    ],
)
async def test_pieces_of_arguments_are_put_where_their_paths_say(pieces: list[Any], arguments: Any) -> None:
    assert await arguments_of(*pieces) == arguments


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([at("a", numberValue=1)], "the path 'a', which names no place"),
        ([at("$", numberValue=1)], r"the path '\$', which names no place"),
        ([at("$.a[*]", numberValue=1)], "which names no place"),
        ([at("$..a", numberValue=1)], "which names no place"),
        ([{"numberValue": 1}], "the path 'None', which names no place"),
        ([at("$" + ".a" * 101, numberValue=1)], "which names no place"),
        ([at("$.a[1]", numberValue=1)], "which what came before does not have"),
        ([at("$.a[0]", numberValue=1), at("$.a.b", numberValue=1)], "which what came before does not have"),
    ],
)
async def test_a_path_that_leads_nowhere_loses_no_argument_in_silence(pieces: list[Any], said: str) -> None:
    with pytest.raises(MalformedAnswer, match=said):
        await arguments_of(*pieces)


async def test_a_call_in_pieces_keeps_its_signature_and_id_and_whole_calls_stand_beside_it() -> None:
    parts = await parts_of(
        chunk({**partial(name="add", id="x1"), "thoughtSignature": SIGNATURE}),
        chunk(partial(at("$.a", numberValue=2))),
        chunk(partial(goes_on=False)),
        last(call("add", {"a": 3})),
    )

    assert parts == [
        {"functionCall": {"name": "add", "id": "x1", "args": {"a": 2}}, "thoughtSignature": SIGNATURE},
        {"functionCall": {"name": "add", "args": {"a": 3}}},
    ]


async def test_a_call_that_was_not_at_its_end_is_malformed() -> None:
    with pytest.raises(MalformedAnswer, match="the call of 'add' is only a part of one; nothing of it may run"):
        await streamed(last(partial(at("$.a", numberValue=2), name="add"), reason="MAX_TOKENS"))
    with pytest.raises(MalformedAnswer, match="the call of 'add' was not at its end when that of 'pay' began"):
        await streamed(chunk(partial(name="add")), last(call("pay")))


# --- failures ---------------------------------------------------------------------------------------


async def test_a_stream_without_a_finish_reason_says_what_is_missing() -> None:
    said = f"the stream of {MODEL} ended before a finishReason: the answer is cut off, so nothing of it counts"

    with pytest.raises(Overloaded, match=said):
        await streamed(*CALLING[:-1])


async def test_a_lost_connection_is_no_turn() -> None:
    with pytest.raises(Overloaded, match="RemoteProtocolError"):
        await answered(Stream([written(*CALLING[:-1]).encode()], then="cut"))


@pytest.mark.parametrize(
    ("code", "status", "error", "retryable"),
    [
        (503, "UNAVAILABLE", Overloaded, True),
        (429, "RESOURCE_EXHAUSTED", RateLimited, True),
        (400, "INVALID_ARGUMENT", Rejected, False),
        (402, "", QuotaExhausted, False),
    ],
)
async def test_an_error_in_mid_stream_is_classified_like_an_error_body(
    code: int, status: str, error: type[ModelError], retryable: bool
) -> None:
    with pytest.raises(error) as raised:
        await streamed(CALLING[0], {"error": {"code": code, "status": status, "message": "No."}})

    assert type(raised.value) is error
    assert raised.value.retryable is retryable


async def test_an_error_answer_to_a_live_request_is_classified() -> None:
    error = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}

    with pytest.raises(Overloaded, match=r"HTTP 503 \(unavailable\): The model is overloaded\."):
        await answered(Stream([json.dumps(error).encode()], status=503, content_type="application/json"))


async def test_a_server_that_ignores_the_wish_to_stream_is_read_as_usual() -> None:
    turn = await answered(Stream([json.dumps(last({"text": "5"})).encode()], content_type="application/json"))

    assert (turn.parts, turn.stop) == ([TextPart(text="5")], "end")


async def test_a_silent_stream_times_out() -> None:
    with pytest.raises(TimedOut, match=r"silent for 0\.05 seconds"):
        await answered(Stream([written(CALLING[0]).encode()], then="silence"), idle_seconds=0.05)


async def test_a_cancelled_call_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()

    async def shown() -> bool:
        return bool(heard.pieces)

    async def left() -> int:
        return server.left

    async with serving(Stream([written(*CALLING[:2]).encode()], then="silence")) as server:
        provider = adapter(server, monkeypatch)
        task = asyncio.create_task(provider.complete(request(live=heard)))
        await until(shown)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await until(left) == 1
        await provider.close()


async def test_calls_at_the_same_time_are_streamed_to_their_own_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = [Heard(), Heard()]
    streams = [Stream([written(last({"text": "same"})).encode()])] * 2
    async with serving(*streams) as server:
        provider = adapter(server, monkeypatch)
        await asyncio.gather(*[provider.complete(request(live=each)) for each in heard])
        await provider.close()

    assert [each.joined("text") for each in heard] == ["same", "same"]
