"""Google's answers as turns: every finish reason, every kind of part, every gap, and no unknown is a success."""

from typing import Any

import httpx2
import pytest

from activities.providers.errors import MalformedAnswer, ModelError, Overloaded, RateLimited, TimedOut, Unauthenticated
from activities.providers.google_answer import STOPS
from activities.providers.protocol import ToolDeclaration
from tests.activities.providers.google_wire import SIGNATURE, call, candidate, google, request, turn_of
from tests.traffic import Answer, Replay
from workflows.contracts import CallPart, Native, ReasoningPart, StopReason, TextPart, Usage

FILTERED = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED "
    "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
)
UNKNOWN = (
    "OTHER FINISH_REASON_UNSPECIFIED TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE NO_IMAGE IMAGE_OTHER FROM_THE_FUTURE"
)
ENDS: dict[str, StopReason] = {
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",
    **dict.fromkeys(FILTERED.split(), "content_filter"),
    **dict.fromkeys(UNKNOWN.split(), "unknown"),
}


def test_every_reason_of_the_table_is_tested_here() -> None:
    assert set(STOPS) - {"STOP"} <= set(ENDS)


@pytest.mark.parametrize("reason", ENDS)
async def test_each_other_reason_than_stop_is_no_success_whatever_came_with_it(reason: str) -> None:
    for parts in ([], [{"text": "so far"}], [call()]):
        turn = await turn_of(candidate(*parts, reason=reason, finishMessage="Why."))

        assert (turn.stop, turn.stop_detail) == (ENDS[reason], f"{reason}: Why.")
        assert len(turn.parts) == len(parts)


@pytest.mark.parametrize("reason", [None, "", 7])
async def test_without_a_reason_the_end_is_unknown(reason: Any) -> None:
    turn = await turn_of(candidate({"text": "so"}, reason=reason))

    assert (turn.stop, turn.stop_detail) == ("unknown", "no finishReason")


async def test_stop_is_the_end_or_calls() -> None:
    end = await turn_of(candidate({"text": "5"}))
    calls = await turn_of(candidate(call("add", {"a": 2})))

    assert (end.stop, end.stop_detail, end.text) == ("end", None, "5")
    assert (calls.stop, calls.calls) == ("tool_calls", [CallPart(id="c1-1", tool="add", arguments={"a": 2})])


@pytest.mark.parametrize("content", [None, {}, {"role": "model"}, {"parts": []}, {"parts": None}, {"parts": [7]}])
async def test_a_content_without_parts_is_an_empty_turn(content: Any) -> None:
    body = candidate()
    body["candidates"] = [{"content": content, "finishReason": "STOP"}]
    turn = await turn_of(body)

    assert (turn.parts, turn.stop) == ([], "end")


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"])
async def test_a_call_that_google_could_not_read_is_asked_for_again(reason: str) -> None:
    with pytest.raises(MalformedAnswer, match=rf"m wrote a call .*: {reason}: print\(default_api\.add") as raised:
        await turn_of(candidate(reason=reason, finishMessage="print(default_api.add("), model="m")

    assert raised.value.retryable


async def test_an_unexpected_call_is_a_call_and_without_one_is_asked_for_again() -> None:
    turn = await turn_of(candidate(call("list_files"), reason="UNEXPECTED_TOOL_CALL"))

    assert (turn.stop, [part.tool for part in turn.calls]) == ("tool_calls", ["list_files"])
    with pytest.raises(MalformedAnswer, match="UNEXPECTED_TOOL_CALL"):
        await turn_of(candidate(reason="UNEXPECTED_TOOL_CALL"))


@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "JAILBREAK", "FROM_THE_FUTURE"])
async def test_a_blocked_prompt_is_filtered_whatever_the_reason(reason: str) -> None:
    turn = await turn_of({"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 4}})

    assert (turn.stop, turn.stop_detail) == ("content_filter", f"the prompt was blocked: {reason}")
    assert turn.usage == Usage(input_tokens=4, model_calls=1)


@pytest.mark.parametrize("body", [{}, {"candidates": []}, {"candidates": [None]}, {"promptFeedback": {}}])
async def test_no_candidate_and_no_reason_is_malformed(body: Any) -> None:
    with pytest.raises(MalformedAnswer, match="no candidate and no reason"):
        await turn_of(body)


@pytest.mark.parametrize("body", ["", "<html>busy</html>", "[]", '"text"', "null"])
async def test_what_is_no_json_object_is_malformed(body: str) -> None:
    with pytest.raises(MalformedAnswer, match="answered with no JSON object but"):
        await turn_of(body)


async def test_the_content_is_kept_whole_with_parts_that_nobody_knows() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "It is "},
        {"text": "5", "thoughtSignature": SIGNATURE},
        {"text": "", "thoughtSignature": "ZW1wdHk="},
        {"executableCode": {"language": "PYTHON", "code": "print(5)"}},
        {"fromTheFuture": {"a": [1, 2.50, None]}, "partMetadata": {"b": "é\u2028"}},
        call("add", {"a": 2}, id="x1", signature="YWJj"),
        {"text": "Wait."},
    ]
    turn = await turn_of(candidate(*parts))

    assert turn.native == Native(
        api="google_generate_content", items=[{"role": "model", "parts": parts}], model="gemini-3-pro-preview"
    )
    assert turn.parts == [
        ReasoningPart(text="Hm."),
        TextPart(text="It is 5"),
        CallPart(id="c1-1", provider_id="x1", tool="add", arguments={"a": 2}),
        TextPart(text="Wait."),
    ]


async def test_only_the_first_candidate_counts() -> None:
    body = candidate({"text": "one"})
    body["candidates"] = [*body["candidates"], *candidate({"text": "two"})["candidates"]]  # type: ignore[misc]

    assert (await turn_of(body)).text == "one"


@pytest.mark.parametrize(
    ("args", "arguments", "raw"),
    [
        ({}, {}, None),
        (None, {}, None),
        ([1], None, "[1]"),
        ("{", None, "{"),
    ],
)
async def test_arguments_of_any_kind(args: Any, arguments: Any, raw: str | None) -> None:
    turn = await turn_of(candidate({"functionCall": {"name": "add", "args": args}}))

    assert turn.calls == [CallPart(id="c1-1", tool="add", arguments=arguments, raw=raw)]


async def test_a_call_without_a_name_calls_an_unknown_tool() -> None:
    turn = await turn_of(candidate({"functionCall": {}}, call("")))

    assert [(part.id, part.tool) for part in turn.calls] == [("c1-1", "unknown"), ("c1-2", "unknown")]


@pytest.mark.parametrize("piece", [{"willContinue": True}, {"partialArgs": [{"jsonPath": "$.a", "numberValue": 2}]}])
async def test_a_part_of_a_call_never_runs(piece: Any) -> None:
    with pytest.raises(MalformedAnswer, match="only a part of one"):
        await turn_of(candidate(call("add", **piece)))


async def test_a_tool_under_another_name_is_called_by_its_own() -> None:
    tools = (ToolDeclaration("3d-view", "", {"type": "object"}),)
    turn = await turn_of(candidate(call("_3d-view")), tools=tools)

    assert turn.calls[0].tool == "3d-view"


async def test_lone_surrogates_survive_in_no_text_and_make_arguments_malformed() -> None:
    turn = await turn_of(candidate({"text": "\ud800"}, call("add", {"a": "\ud800"})))

    assert (turn.text, turn.calls[0].arguments) == ("\ufffd", None)
    assert turn.model_dump_json()


async def test_an_answer_that_history_cannot_hold_is_malformed() -> None:
    deep: Any = {}
    for _ in range(150):
        deep = {"a": deep}
    with pytest.raises(MalformedAnswer, match="nested deeper"):
        await turn_of(candidate(call("add", deep)))
    with pytest.raises(MalformedAnswer, match="recorded as one piece"):
        await turn_of(candidate({"text": "x" * 1_500_000}))


async def test_all_tokens_that_are_billed_are_counted() -> None:
    body = candidate({"text": "5"})
    body["usageMetadata"] = {
        "promptTokenCount": 1000,
        "cachedContentTokenCount": 600,
        "toolUsePromptTokenCount": 50,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 300,
        "totalTokenCount": 1370,
    }
    turn = await turn_of(body)

    assert turn.usage == Usage(
        input_tokens=1050, cached_tokens=600, output_tokens=320, reasoning_tokens=300, model_calls=1
    )


@pytest.mark.parametrize("usage", [None, {}, {"promptTokenCount": "9"}, {"promptTokenCount": -1}])
async def test_missing_counts_are_unmeasured(usage: Any) -> None:
    turn = await turn_of({**candidate({"text": "5"}), "usageMetadata": usage})

    assert turn.usage == Usage(model_calls=1, unmeasured=1)


async def fails(answer: Answer | Exception) -> ModelError:
    replay = Replay(answer)
    with pytest.raises(ModelError) as raised:
        await google(replay).complete(request())
    assert len(replay.sent) == 1
    assert raised.value.__cause__ is None
    return raised.value


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_the_sdk_asks_once_whatever_comes(status: int) -> None:
    body = {"error": {"code": status, "message": "no", "status": "X"}}

    assert (await fails(Answer(body, status))).retryable
    assert (await fails(Answer("<html>no</html>", status))).retryable


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx2.ConnectError("refused"), Overloaded),
        (httpx2.RemoteProtocolError("cut off"), Overloaded),
        (httpx2.ReadTimeout("late"), TimedOut),
    ],
)
async def test_a_connection_that_fails_is_tried_once(failure: Exception, kind: type[ModelError]) -> None:
    error = await fails(failure)

    assert type(error) is kind
    assert error.retryable


async def test_an_error_inside_a_200_is_an_error() -> None:
    error = await fails(
        Answer({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})
    )

    assert type(error) is Overloaded


async def test_the_key_is_told_to_nobody() -> None:
    body = {"error": {"code": 400, "message": "API key not valid: AIzaSyD-secretsecret", "status": "INVALID_ARGUMENT"}}
    error = await fails(Answer(body, 400))

    assert type(error) is Unauthenticated
    assert "secret" not in str(error)


async def test_a_delay_in_a_header_counts_too() -> None:
    body = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
    error = await fails(Answer(body, 429, {"retry-after": "7"}))

    assert (type(error), error.delay) == (RateLimited, 7.0)
