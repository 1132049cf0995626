"""Recorded answers drive the Google adapter; what it sends next is held against what the API was recorded to accept."""

import re
from typing import Any

import pytest

from activities.providers.errors import ContextTooLong, ModelError, RateLimited, Rejected
from activities.providers.google_answer import read_answer
from activities.providers.google_history import PLACEHOLDER
from tests.activities.providers.google_traffic import camel, grouped, neutral, request_of
from tests.activities.providers.google_wire import google, is_google, request
from tests.judge_google import judge_contents
from tests.traffic import Exchange, Replay, exchanges, names, or_skipped, require_traffic
from workflows.contracts import Turn, Usage

STREAMING_ONLY = ("gemini/gemini3_stream_tool_calls", "gemini/stream_partial_args")
"""Driven by test_google_stream.py."""

ERRORS: dict[str, tuple[type[ModelError], float | None]] = {
    "gemini/error_429_quota_with_retry_info": (RateLimited, 48.939935699),
    "gemini/error_context_length_400": (ContextTooLong, None),
    "gemini/error_invalid_role_400": (Rejected, None),
    "synthetic-fixtures-not-recordings/google_429_retry_info_fraction": (RateLimited, 34.4),
}

SINGLE = (
    "gemini/max_tokens_no_parts",
    "gemini/model_armor_prompt_block_no_candidates",
    "gemini/safety_block_empty_content",
)

DIALOGUES = (
    "gemini/gemini25_parallel_calls_without_ids",
    "gemini/gemini3_parallel_calls_signature_on_first_only",
    "gemini/unexpected_tool_call_finish",
    "cross-provider/openai_to_gemini_replay",
)

DRIVEN = or_skipped([name for name in names(["gemini", "cross-provider"]) if name in (*SINGLE, *DIALOGUES)])
TALKS = or_skipped([name for name in DRIVEN if name in DIALOGUES])


def test_each_recording_is_driven_or_named_with_a_reason() -> None:
    require_traffic()
    found = names(["gemini", "cross-provider", "synthetic-fixtures-not-recordings"])
    ours = [
        name for name in found if any(map(is_google, exchanges(name))) or re.search("/(google|gemini)_|gemini/", name)
    ]

    assert sorted(ours) == sorted([*STREAMING_ONLY, *ERRORS, *SINGLE, *DIALOGUES])
    assert all(each.sse for name in STREAMING_ONLY for each in exchanges(name))


async def drive(name: str) -> tuple[list[Exchange], list[Turn], list[Any]]:
    """The exchanges of a recording at Google, the turns that the adapter made of them, and the bodies it sent."""
    recorded = list(filter(is_google, exchanges(name)))
    replay = Replay(*recorded)
    provider = google(replay)
    turns: list[Turn] = []
    first = grouped(camel(recorded[0].request_body["contents"]))
    foreign = sum(content["role"] == "model" for content in first)
    for exchange in recorded:
        turns.append(await provider.complete(request_of(exchange, turns, foreign)))
    await provider.close()
    return recorded, turns, replay.sent


@pytest.mark.parametrize("name", TALKS)
async def test_each_next_request_says_what_the_recorded_one_said(name: str) -> None:
    recorded, turns, sent = await drive(name)
    given_ids = any(call.provider_id for turn in turns for call in turn.calls)  # other clients make up ids of their own

    for exchange, body in zip(recorded, sent, strict=True):
        judge_contents(body, signed="gemini-3" in exchange.url)
        accepted = camel(exchange.request_body)
        assert neutral(body["contents"], given_ids) == neutral(grouped(accepted["contents"]), given_ids)
        assert body.get("generationConfig", {}) == accepted["generationConfig"]
    assert turns[-1].stop == "end"
    assert turns[-1].text


@pytest.mark.parametrize("name", DRIVEN)
async def test_a_content_is_kept_and_sent_back_verbatim(name: str) -> None:
    recorded, turns, sent = await drive(name)

    for number, (exchange, turn) in enumerate(zip(recorded, turns, strict=True), start=1):
        content = exchange.response_body.get("candidates", [{}])[0].get("content", {})
        assert (turn.native.items if turn.native else []) == ([content] if content.get("parts") else [])
        assert Turn.model_validate_json(turn.model_dump_json()) == turn
        assert [content in body["contents"] for body in sent[number:]] == [True] * (len(recorded) - number)


@pytest.mark.parametrize("name", ERRORS)
async def test_a_recorded_error_becomes_one_of_ours_after_a_single_request(name: str) -> None:
    kind, delay = ERRORS[name]
    (exchange,) = exchanges(name)
    replay = Replay(exchange)

    with pytest.raises(ModelError) as raised:
        await google(replay).complete(request())

    assert type(raised.value) is kind
    assert raised.value.status == exchange.status
    assert raised.value.delay == delay
    assert raised.value.__cause__ is None
    assert len(replay.sent) == 1


async def test_calls_of_another_api_carry_the_placeholder_and_their_ids() -> None:
    _, _, sent = await drive("cross-provider/openai_to_gemini_replay")

    parts = [part for content in sent[1]["contents"] for part in content["parts"] if "functionCall" in part]
    assert [part["thoughtSignature"] == PLACEHOLDER for part in parts] == [True, True, True, False]
    assert [part["functionCall"]["id"] for part in parts] == [
        "call_30QT8TKHJVZ7ktawZDPtvzjf",
        "auto_load_97d4a2341e6817ea",
        "call_ZIYh6lTGNz01q0XHRAcH4lfw",
        "lx8q24je",
    ]


async def test_stop_reasons_as_recorded() -> None:
    require_traffic()
    stops = {name: [(turn.stop, turn.stop_detail) for turn in (await drive(name))[1]] for name in (*SINGLE, *DIALOGUES)}

    assert stops["gemini/max_tokens_no_parts"] == [("max_tokens", "MAX_TOKENS")]
    assert stops["gemini/safety_block_empty_content"] == [("content_filter", "SAFETY")]
    assert stops["gemini/model_armor_prompt_block_no_candidates"] == [
        (
            "content_filter",
            "the prompt was blocked: MODEL_ARMOR: The prompt violated Prompt Injection and Jailbreak filters.",
        )
    ]
    assert stops["gemini/gemini3_parallel_calls_signature_on_first_only"] == [("tool_calls", None), ("end", None)]
    assert stops["gemini/unexpected_tool_call_finish"] == [
        (
            "tool_calls",
            "UNEXPECTED_TOOL_CALL: Unexpected tool call: Model tried to call an undeclared function: list_files",
        ),
        ("tool_calls", None),
        ("tool_calls", None),
        ("end", None),
    ]


async def test_calls_without_ids_get_ids_of_ours_and_are_answered_by_position() -> None:
    _, turns, sent = await drive("gemini/gemini25_parallel_calls_without_ids")

    assert [(call.id, call.provider_id, call.tool) for call in turns[0].calls] == [
        ("c1-1", None, "add"),
        ("c1-2", None, "multiply"),
    ]
    assert [part["functionResponse"] for part in sent[1]["contents"][2]["parts"]] == [
        {"name": "add", "response": {"output": "{'result': '5'}"}},
        {"name": "multiply", "response": {"output": "{'result': '6'}"}},
    ]


async def test_thoughts_are_counted_as_output() -> None:
    require_traffic()
    usage = {name: [turn.usage for turn in (await drive(name))[1]] for name in (*SINGLE, *DIALOGUES)}

    assert usage["gemini/gemini3_parallel_calls_signature_on_first_only"] == [
        Usage(input_tokens=299, output_tokens=32 + 495, reasoning_tokens=495, model_calls=1),
        Usage(input_tokens=606, output_tokens=19 + 78, reasoning_tokens=78, model_calls=1),
    ]
    assert usage["gemini/max_tokens_no_parts"] == [
        Usage(input_tokens=15, output_tokens=2, reasoning_tokens=2, model_calls=1)
    ]
    assert usage["gemini/model_armor_prompt_block_no_candidates"] == [Usage(model_calls=1, unmeasured=1)]
    assert usage["gemini/safety_block_empty_content"] == [Usage(input_tokens=14, model_calls=1)]


def test_a_recorded_answer_names_the_model_that_gave_it() -> None:
    answer = exchanges("gemini/gemini3_parallel_calls_signature_on_first_only")[0].response_body

    assert read_answer(answer, request(model="gemini-3-pro-preview")).model == "gemini-3.1-pro-preview"
