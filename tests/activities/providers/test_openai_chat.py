"""What the Chat Completions adapter sends and reads, beyond what recordings show."""

import json
import subprocess
import sys
from typing import Any

import httpx2
import pytest

from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    Overloaded,
    RateLimited,
    Rejected,
    TimedOut,
    Unauthenticated,
)
from activities.providers.failed_generation import tool_in
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.pairing import NO_RESULT
from activities.providers.recordable import MAX_BYTES
from tests.activities.providers.openai_wire import ADD, chat, request, sdk
from tests.judge import judge_chat
from tests.traffic import Answer, Replay, exchanges
from workflows.contracts import (
    CallPart,
    Entry,
    Message,
    Native,
    Note,
    ReasoningPart,
    RefusalPart,
    Result,
    TextPart,
    Turn,
    Usage,
)
from workflows.words import with_edit

USER = Message(text="Add 2 and 3")


def call(
    arguments: Any = '{"a": 2, "b": 3}', call_id: str = "call_1", name: str = "add", **more: Any
) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def answer(finish: str | None = "stop", **message: Any) -> Answer:
    fields = {"role": "assistant", "content": None, **message}
    return Answer({"model": "m-1", "choices": [{"index": 0, "finish_reason": finish, "message": fields}]})


async def read(said: Answer, **fields: Any) -> Turn:
    return await chat(Replay(said)).complete(request(**fields))


async def sent(transcript: list[Entry], base_url: str = "https://api.openai.com/v1", **fields: Any) -> dict[str, Any]:
    """The body that goes out for a transcript; it must satisfy the judge."""
    replay = Replay(answer(content="ok"))
    await chat(replay, base_url).complete(request(transcript, **fields))
    body: dict[str, Any] = replay.sent[0]
    judge_chat(body)
    return body


def result(call_id: str = "c1-1", content: str = "5", **fields: Any) -> Result:
    return Result(call=call_id, tool="add", content=content, **fields)


# --- the request --------------------------------------------------------------------------------


async def test_a_request_carries_model_instructions_tools_and_settings() -> None:
    body = await sent([USER], instructions="Be brief.", max_output_tokens=50, settings={"temperature": 0.5})

    function = {"name": "add", "description": "Adds.", "parameters": ADD.schema}
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add 2 and 3"}],
        "tools": [{"type": "function", "function": function}],
        "max_completion_tokens": 50,
        "temperature": 0.5,
    }


async def test_a_closing_call_declares_its_tools_and_forbids_them() -> None:
    body = await sent([USER], tool_choice="none", settings={"tool_choice": "required"})

    assert body["tool_choice"] == "none"
    assert len(body["tools"]) == 1


async def test_without_tools_no_tool_choice_is_sent() -> None:
    assert set(await sent([USER], tools=(), tool_choice="none")) == {"model", "messages"}


async def test_tools_of_the_settings_stand_beside_declared_ones() -> None:
    body = await sent([USER], settings={"tools": [{"type": "web_search"}]})

    assert [tool["type"] for tool in body["tools"]] == ["web_search", "function"]


async def test_the_output_limit_is_spelled_as_each_server_wants_it() -> None:
    for host, field in {
        "https://api.openai.com/v1": "max_completion_tokens",
        "https://me.openai.azure.com/openai/v1": "max_completion_tokens",
        "http://localhost:11434/v1": "max_tokens",
    }.items():
        assert (await sent([USER], host, max_output_tokens=7))[field] == 7


async def test_streaming_is_refused_before_anything_is_sent() -> None:
    replay = Replay()

    with pytest.raises(Rejected, match="stream=true"):
        await chat(replay).complete(request(settings={"stream": True}))

    assert replay.sent == []


async def test_results_stand_right_behind_their_turn_whatever_comes_between() -> None:
    turn = Turn(parts=[CallPart(id="c1-1", tool="add"), CallPart(id="c1-2", tool="add")])
    note = Note(text="Two rounds are left.")

    body = await sent([USER, turn, note, result("c1-2", "b"), Message(text="Wait!"), result("c1-1", "a")])

    assert [(each["role"], each.get("tool_call_id")) for each in body["messages"][2:]] == [
        ("tool", "c1-1"),
        ("tool", "c1-2"),
        ("user", None),
        ("user", None),
    ]
    assert body["messages"][4]["content"] == "<harness_note>\nTwo rounds are left.\n</harness_note>"


async def test_a_call_without_result_gets_one_that_says_so_and_a_result_without_call_is_left_out() -> None:
    turn = Turn(parts=[CallPart(id="c1-1", tool="add")])

    body = await sent([USER, turn, result("c9-9"), Message(text="Go on")])

    assert [each["content"] for each in body["messages"] if each["role"] == "tool"] == [NO_RESULT]


async def test_results_tell_failure_and_emptiness() -> None:
    turn = Turn(parts=[CallPart(id=f"c1-{n}", tool="add") for n in (1, 2)])

    body = await sent(
        [
            USER,
            turn,
            result("c1-1", "no such file", status="error"),
            result("c1-2", ""),
        ]
    )

    assert [each["content"] for each in body["messages"][2:]] == [
        "Error: no such file",
        "(no output)",
    ]


async def test_that_a_person_edited_a_call_is_told_once() -> None:
    content = with_edit('{"a":2}', "5")

    body = await sent([USER, Turn(parts=[CallPart(id="c1-1", tool="add")]), result("c1-1", content, edited=True)])

    assert body["messages"][-1]["content"] == ('[a person edited the arguments of this call; it ran with {"a":2}]\n5')


async def test_turns_of_another_api_are_rebuilt_without_their_reasoning() -> None:
    foreign = Turn(
        parts=[
            ReasoningPart(text="Hm."),
            TextPart(text="Adding."),
            CallPart(id="c1-1", provider_id="toolu_1", tool="add", arguments={"a": 2}),
        ],
        native=Native(api="anthropic_messages", items=[{"type": "thinking", "thinking": "Hm.", "signature": "x"}]),
    )

    body = await sent([USER, foreign, result()])

    function = {"name": "add", "arguments": '{"a": 2}'}
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Adding.",
            "tool_calls": [{"id": "toolu_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "5"},
    ]


async def test_empty_turns_are_left_out_and_refusals_are_told() -> None:
    native_empty = Turn(native=Native(api="openai_chat", items=[{"role": "assistant", "content": ""}]))
    refused = Turn(parts=[RefusalPart(text="I won't.")])

    body = await sent([USER, native_empty, Turn(), refused, Message(text="")])

    assert body["messages"][1:] == [
        {"role": "assistant", "content": "I won't."},
        {"role": "user", "content": "(empty message)"},
    ]


async def test_repeated_and_illegal_ids_are_replaced_in_call_and_result_alike() -> None:
    ids = ["list_dir:0", "list_dir:0", "", "x" * 41, "c7-1", "has space", None]
    turns: list[Entry] = []
    for number, provider_id in enumerate(ids, start=1):
        native = {"role": "assistant", "content": None, "tool_calls": [call(call_id=provider_id or "")]}
        part = CallPart(id=f"c{number}-1", provider_id=provider_id, tool="add", arguments={})
        turns += [
            Turn(parts=[part], native=Native(api="openai_chat", items=[native])),
            result(f"c{number}-1"),
        ]

    body = await sent([USER, *turns])

    expected = ["list_dir:0", "c2-1", "c3-1", "c4-1", "c5-1", "c6-1", "c7-1"]
    assert [each["tool_calls"][0]["id"] for each in body["messages"][1::2]] == expected
    assert [each["tool_call_id"] for each in body["messages"][2::2]] == expected


async def test_ids_for_mistral_have_nine_letters_or_digits() -> None:
    turn = Turn(parts=[CallPart(id="c1-1", provider_id="call_123", tool="add", arguments={})])

    body = await sent([USER, turn, result()], "https://api.mistral.ai/v1")

    call_id = body["messages"][2]["tool_call_id"]
    assert call_id == body["messages"][1]["tool_calls"][0]["id"]
    assert len(call_id) == 9
    assert call_id.isalnum()


async def test_a_growing_transcript_never_changes_what_was_sent_before() -> None:
    replay = Replay(*[answer(tool_calls=[call(call_id="same")]) for _ in range(4)])
    provider = chat(replay)
    transcript: list[Entry] = [USER]
    for number in range(1, 5):
        transcript += [await provider.complete(request(transcript, turn=number)), result(f"c{number}-1")]

    for earlier, later in zip(replay.sent, replay.sent[1:], strict=False):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


async def test_names_that_no_api_takes_are_made_legal_unless_declared() -> None:
    turn = await read(answer(tool_calls=[call(name="add<|channel|>x"), call(name="", call_id="call_2")]))

    body = await sent([USER, turn, result(), result("c1-2")])

    assert [each.tool for each in turn.calls] == ["add<|channel|>x", "unknown"]
    assert [each["function"]["name"] for each in body["messages"][1]["tool_calls"]] == ["add__channel__x", "unknown"]


# --- the answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}"])
async def test_empty_arguments_are_an_empty_object(arguments: str | None) -> None:
    turn = await read(answer(tool_calls=[call(arguments)]))

    assert (turn.calls[0].arguments, turn.calls[0].raw) == ({}, None)


async def test_arguments_that_are_an_object_already_are_taken() -> None:
    turn = await read(answer(tool_calls=[call({"a": 1})]))
    body = await sent([USER, turn, result()])

    assert turn.calls[0].arguments == {"a": 1}
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": ',
        "[1]",
        "5",
        '"text"',
        "null",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "[" * 200 + "]" * 200 + "}",
        "{}{}",
    ],
)
async def test_malformed_arguments_are_kept_as_text_and_sent_back_as_json(arguments: str) -> None:
    turn = await read(answer("length", tool_calls=[call(arguments)]))
    body = await sent([USER, turn, result(status="error")])

    assert turn.calls == [CallPart(id="c1-1", provider_id="call_1", tool="add", raw=arguments)]
    sent_back = json.loads(body["messages"][1]["tool_calls"][0]["function"]["arguments"])
    assert sent_back == {"malformed_arguments": arguments}


@pytest.mark.parametrize("arguments", ['{"a": "\\ud800"}', '{"a": "\ud800"}', '{"\\udfff": 1}'])
async def test_lone_surrogates_make_arguments_malformed_and_the_turn_recordable(arguments: str) -> None:
    turn = await read(answer(content="x\ud800", tool_calls=[call(arguments)]))
    body = await sent([USER, turn, result()])

    assert turn.calls[0].arguments is None
    assert turn.text == "x\ufffd"
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    json.dumps(body, ensure_ascii=False).encode()


async def test_nul_emoji_and_long_lines_pass_unchanged() -> None:
    text = "\x00 👩‍👩‍👧 " + "x" * 1_000_000
    turn = await read(answer(tool_calls=[call(json.dumps({"a": "\x00👩‍👩‍👧"}))], content="\x00👍"))
    body = await sent([Message(text=text), turn, result(content="\x00")])

    assert turn.calls[0].arguments == {"a": "\x00👩‍👩‍👧"}
    assert turn.text == "\x00👍"
    assert body["messages"][0]["content"] == text
    assert body["messages"][2]["content"] == "\x00"


@pytest.mark.parametrize(
    ("finish", "message", "stop"),
    [
        ("stop", {"content": "hi"}, "end"),
        (None, {"content": "hi"}, "end"),
        ("", {"content": "hi"}, "end"),
        ("tool_calls", {"content": "hi"}, "end"),
        ("stop", {"tool_calls": [call()]}, "tool_calls"),
        ("", {"tool_calls": [call()]}, "tool_calls"),
        ("length", {"content": "hi"}, "max_tokens"),
        ("length", {"tool_calls": [call()]}, "max_tokens"),
        ("model_length", {"content": "hi"}, "max_tokens"),
        ("content_filter", {"content": ""}, "content_filter"),
        ("content_filter", {"tool_calls": [call()]}, "content_filter"),
        ("stop", {"refusal": "no"}, "refusal"),
        ("stop", {"refusal": ""}, "end"),
        ("something_new", {"content": "hi"}, "unknown"),
        ("stop", {"content": ""}, "end"),
    ],
)
async def test_the_reason_to_stop_is_read_from_what_the_message_holds(
    finish: str | None, message: dict[str, Any], stop: str
) -> None:
    turn = await read(answer(finish, **message))

    assert turn.stop == stop
    assert turn.stop_detail == (finish or None)


async def test_content_in_parts_is_read_and_thinking_kept_apart() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}

    turn = await read(answer(content=[thinking, {"type": "text", "text": "Hi"}, {"type": "text", "text": "!"}]))

    assert turn.parts == [ReasoningPart(text="Hm."), TextPart(text="Hi!")]


async def test_a_call_of_an_unknown_type_is_a_call_that_can_only_be_refused() -> None:
    odd = {"id": "call_9", "type": "teleport", "teleport": {"to": "Mars"}}
    turn = await read(answer(tool_calls=[odd, "nonsense"]))

    assert [(each.tool, each.arguments) for each in turn.calls] == [("teleport", None), ("unknown", None)]
    assert json.loads(turn.calls[0].raw or "") == odd


async def test_a_call_without_type_and_id_is_a_function_call() -> None:
    turn = await read(answer(tool_calls=[{"function": {"name": "add", "arguments": "{}"}}]))
    body = await sent([USER, turn, result()])

    assert turn.calls == [CallPart(id="c1-1", tool="add", arguments={})]
    assert body["messages"][1]["tool_calls"] == [call("{}", call_id="c1-1")]


async def test_an_empty_reasoning_text_goes_back_since_deepseek_wants_it() -> None:
    turn = await read(answer(reasoning_content="", tool_calls=[call()]))

    body = await sent([USER, turn, result()], "https://api.deepseek.com")

    assert body["messages"][1]["reasoning_content"] == ""


async def test_only_fields_that_no_request_has_are_kept_back() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    turn = await read(
        answer(
            content="hi",
            annotations=[{"type": "url_citation"}],
            provider_metadata={"x": 1},
            reasoning_details=[{"type": "reasoning.encrypted", "data": "abc"}],
            tool_calls=[call(index=0, extra_content=extra)],
        )
    )
    replay = Replay(answer(content="ok"))
    await chat(replay).complete(request([USER, turn, result()]))

    assert replay.sent[0]["messages"][1] == {
        "role": "assistant",
        "content": "hi",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}],
        "tool_calls": [call(extra_content=extra)],
    }
    assert turn.native is not None
    assert "annotations" in json.dumps(turn.native.items)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(model_calls=1, unmeasured=1)),
        ({}, Usage(model_calls=1, unmeasured=1)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Usage(model_calls=1, unmeasured=1)),
        (
            {"prompt_tokens": None, "completion_tokens": "7", "prompt_tokens_details": None},
            Usage(model_calls=1, unmeasured=1),
        ),
        ({"prompt_tokens": -1, "completion_tokens": 2.0}, Usage(output_tokens=2, model_calls=1, unmeasured=1)),
        ({"prompt_tokens": 9, "completion_tokens": 0}, Usage(input_tokens=9, model_calls=1, unmeasured=1)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=4, model_calls=1),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cache_write_tokens": 4}},
            Usage(input_tokens=9, output_tokens=2, cache_write_tokens=4, model_calls=1),
        ),
    ],
)
async def test_usage_that_is_missing_or_nonsense_is_unmeasured_and_no_failure(usage: Any, expected: Usage) -> None:
    said = answer(content="hi")
    said.body["usage"] = usage

    assert (await read(said)).usage == expected


async def test_an_answer_that_says_nothing_may_have_no_output() -> None:
    said = answer(content="")
    said.body["usage"] = {"prompt_tokens": 9, "completion_tokens": 0}

    assert (await read(said)).usage == Usage(input_tokens=9, model_calls=1)


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": None}, MalformedAnswer),
        ({"choices": []}, MalformedAnswer),
        ({"choices": [{"finish_reason": "stop"}]}, MalformedAnswer),
        ({"choices": [{"message": None}]}, MalformedAnswer),
        ({}, MalformedAnswer),
        ([], MalformedAnswer),
        ("", MalformedAnswer),
        ("not JSON", MalformedAnswer),
        ("[" * 100_000, MalformedAnswer),
        ({"error": {"message": "upstream is full", "code": 502}}, Overloaded),
        ({"error": {"message": "slow down", "code": 429}, "choices": None}, RateLimited),
        ({"choices": [{"finish_reason": "error", "message": {"content": ""}}]}, Overloaded),
        ({"choices": [{"finish_reason": "insufficient_system_resource", "message": {"content": "x"}}]}, Overloaded),
    ],
)
async def test_a_200_that_is_no_answer_is_an_error(body: Any, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        await read(Answer(body))

    assert type(caught.value) is kind


async def test_an_answer_nested_deeper_than_history_can_hold_is_malformed() -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]

    with pytest.raises(MalformedAnswer, match="nested"):
        await read(answer(content="hi", extra=deep))


@pytest.mark.parametrize("content", ["x" * MAX_BYTES, "\u6c34" * (MAX_BYTES // 3)])
async def test_a_turn_too_large_to_be_recorded_is_malformed(content: str) -> None:
    with pytest.raises(MalformedAnswer, match=f"{MAX_BYTES:,}"):
        await read(answer(content=content))


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx2.ConnectError("refused"), Overloaded),
        (httpx2.ReadTimeout("slow"), TimedOut),
        (httpx2.RemoteProtocolError("closed early"), Overloaded),
        (ValueError("odd"), ModelError),
    ],
)
async def test_every_exception_of_the_transport_is_classified(failure: Exception, kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        await chat(Replay(failure)).complete(request())

    assert type(caught.value) is kind


async def test_a_failing_server_is_asked_exactly_once() -> None:
    replay = Replay(Answer({"error": {"message": "down"}}, 500))

    with pytest.raises(Overloaded):
        await chat(replay).complete(request())

    assert len(replay.requests) == 1


async def test_the_part_of_a_key_that_a_provider_echoes_is_not_told() -> None:
    for name in ("openai-chat/error_invalid_key_401", "deepseek/error_invalid_key_401"):
        with pytest.raises(Unauthenticated) as caught:
            await chat(Replay(*exchanges(name))).complete(request())

        assert "2345" not in str(caught.value)
        assert "*" not in str(caught.value)


@pytest.mark.parametrize("adapter", [OpenAIChat, OpenAIResponses])
async def test_a_missing_key_fails_the_call_and_says_what_to_set(
    adapter: type[OpenAIChat] | type[OpenAIResponses], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    provider = adapter.from_environment()

    with pytest.raises(Unauthenticated, match="OPENAI_API_KEY is not set"):
        await provider.complete(request())

    await provider.close()


async def test_key_and_server_come_from_the_sdks_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    provider = OpenAIChat.from_environment()

    with pytest.raises(Overloaded):
        await provider.complete(request())

    await provider.close()


async def test_closing_closes_the_clients_connections() -> None:
    client = sdk(Replay())

    await OpenAIChat(client).close()

    assert client.is_closed()


def test_importing_the_adapters_does_not_load_the_sdk() -> None:
    code = (
        "import sys, activities.providers.openai_chat, activities.providers.openai_responses;"
        "print([name for name in ('openai', 'httpx2') if name in sys.modules])"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("generation", "tool"),
    [
        ('{"name": "get", "arguments": {}}', "get"),
        ('[{"name": "get"}]', "get"),
        ('<function=get{"a": 1}</function>', "get"),
        ('<tool_call>{"name": "get", "arguments": {"a": ', "get"),
        ("maybe", "unknown"),
        ("", "unknown"),
        ("[]", "unknown"),
        ('{"name": 5}', "unknown"),
    ],
)
def test_the_tool_that_was_meant_is_found_leniently(generation: str, tool: str) -> None:
    assert tool_in(generation) == tool
