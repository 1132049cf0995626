"""A closing call leaves a model that thinks room for its answer, in the body that each API gets."""

from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import JsonValue

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.protocol import ModelRequest, Provider, ToolDeclaration
from activities.providers.thinking_room import ROOM, closing_output
from tests.traffic import Answer, Replay
from workflows.contracts import Entry, JsonObject, Message, ReasoningPart, Result, TextPart, Turn, Usage

CAP = 1000
FIND = ToolDeclaration("find", "Finds a thing.", {"type": "object", "properties": {}})


def anthropic(http: httpx2.AsyncClient) -> Provider:
    return AnthropicMessages(AsyncAnthropic(api_key="k", http_client=http, max_retries=0))


def responses(http: httpx2.AsyncClient) -> Provider:
    return OpenAIResponses(AsyncOpenAI(api_key="k", http_client=http, max_retries=0))


def chat(http: httpx2.AsyncClient) -> Provider:
    return OpenAIChat(AsyncOpenAI(api_key="k", http_client=http, max_retries=0))


def of_anthropic(*thoughts: JsonObject) -> JsonObject:
    call: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    return {"content": [*thoughts, call], "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 5}}


def of_responses(*thoughts: JsonObject) -> JsonObject:
    call: JsonObject = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "find", "arguments": "{}"}
    return {"id": "resp_1", "status": "completed", "output": [*thoughts, call]}


def of_chat(reasoning: int) -> JsonObject:
    call: JsonObject = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    details: JsonObject = {"reasoning_tokens": reasoning}
    return {
        "choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 50, "completion_tokens_details": details},
    }


@pytest.mark.parametrize(
    ("build", "answer", "field", "tokens"),
    [
        (anthropic, of_anthropic(), "max_tokens", CAP),
        (anthropic, of_anthropic({"type": "thinking", "thinking": "", "signature": "s"}), "max_tokens", CAP + ROOM),
        (anthropic, of_anthropic({"type": "redacted_thinking", "data": "d"}), "max_tokens", CAP + ROOM),
        (responses, of_responses(), "max_output_tokens", CAP),
        (responses, of_responses({"type": "reasoning", "id": "rs_1", "summary": []}), "max_output_tokens", CAP + ROOM),
        (chat, of_chat(0), "max_completion_tokens", CAP),
        (chat, of_chat(40), "max_completion_tokens", CAP + ROOM),
    ],
)
async def test_the_cap_of_a_closing_call_is_for_the_answer_of_a_model_that_thought_before(
    build: Any, answer: JsonObject, field: str, tokens: int
) -> None:
    replay = Replay(Answer(answer), Answer(answer))
    provider: Provider = build(replay.client())
    asked = Message(text="Find it.")
    turn = await provider.complete(ModelRequest("m", "Be brief.", [asked], [FIND]))
    said: list[Entry] = [asked, turn, Result(call=turn.calls[0].id, tool="find", content="found")]
    most = closing_output(CAP, "m", {}, said)
    await provider.complete(ModelRequest("m", "Be brief.", said, [FIND], tool_choice="none", max_output_tokens=most))
    await provider.close()

    assert replay.sent[1][field] == tokens


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, CAP + ROOM),
        ({"thinking": {"type": "enabled", "budget_tokens": 20_000}}, CAP + 20_000),
        ({"thinking": {"type": "adaptive"}}, CAP + ROOM),
        ({"thinking": {"type": "disabled"}}, CAP),
        ({"thinking": {"type": "between_tools"}}, CAP),
        ({"reasoning": {"effort": "low"}}, CAP + ROOM),
        ({"reasoning": {"effort": "none"}}, CAP),
        ({"reasoning_effort": "high"}, CAP + ROOM),
        ({"thinking": "odd", "reasoning": None}, CAP),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 20_000}}}, CAP + 20_000),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}, CAP + ROOM),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, CAP),
        ({"generationConfig": {"temperature": 0}}, CAP),
    ],
)
def test_settings_say_whether_a_model_thinks(settings: dict[str, JsonValue], tokens: int) -> None:
    assert closing_output(CAP, "m", settings, [Message(text="hi")]) == tokens


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", CAP + ROOM),
        ("claude-fable-5-1", CAP + ROOM),
        ("anthropic/claude-sonnet-5-5", CAP + ROOM),
        ("claude-opus-4-8", CAP),
        ("claude-haiku-4-5-20251001", CAP),
        ("claude-3-5-haiku-20241022", CAP),
        ("gpt-4o", CAP),
        ("gemini-2.5-flash", CAP + ROOM),
        ("gemini-3-pro-preview", CAP + ROOM),
        ("gemini-flash-latest", CAP + ROOM),
        ("gemini-2.0-flash", CAP),
    ],
)
def test_a_model_that_thinks_unasked_has_room_even_if_it_did_not_so_far(model: str, tokens: int) -> None:
    said: list[Entry] = [Message(text="hi"), Turn(parts=[TextPart(text="hello")])]

    assert closing_output(CAP, model, {}, said) == tokens
    assert closing_output(CAP, model, {"thinking": {"type": "disabled"}}, said) == CAP


def test_settings_outrank_what_the_model_did_before() -> None:
    thought = Turn(parts=[ReasoningPart(text="Hm."), TextPart(text="Hi")], usage=Usage(reasoning_tokens=4))

    assert closing_output(CAP, "m", {"thinking": {"type": "disabled"}}, [thought]) == CAP
    assert closing_output(CAP, "m", {}, [thought]) == CAP + ROOM


async def test_a_large_budget_leaves_the_answer_its_own_tokens_on_the_wire() -> None:
    settings: dict[str, JsonValue] = {"thinking": {"type": "enabled", "budget_tokens": 20_000}}
    asked: list[Entry] = [Message(text="Find it.")]
    replay = Replay(Answer(of_anthropic()))
    most = closing_output(CAP, "m", settings, asked)
    await anthropic(replay.client()).complete(
        ModelRequest("m", "Be brief.", asked, [FIND], "none", max_output_tokens=most, settings=settings)
    )

    assert replay.sent[0]["thinking"]["budget_tokens"] == 20_000
    assert replay.sent[0]["max_tokens"] == 21_000
