"""Every API accepts what is sent in any epoch, and the request for the summary, whoever made the turns."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from activities.models.context import Context
from activities.models.epochs import LONG_RESULT, latest
from activities.models.prompts import SUM_UP
from activities.models.summarize import shortened
from activities.providers.anthropic_request import build_request
from activities.providers.google_request import build_body
from activities.providers.openai_chat_request import chat_request
from activities.providers.openai_responses_request import chain_start, responses_request
from activities.providers.openai_vendors import vendor
from activities.providers.protocol import ModelRequest, ToolDeclaration
from tests.judge import judge_chat, judge_responses
from tests.judge_anthropic import judge_messages
from tests.judge_google import judge_contents
from workflows.contracts import Audit, CallPart, Entry, Epoch, Logged, Message, Native, Note, Result, TextPart, Turn

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LOOK = ToolDeclaration("look", "Looks.", {"type": "object", "properties": {}})
LONG = "w" * (2 * LONG_RESULT)
APIS = ("anthropic_messages", "openai_responses", "openai_chat", "google_generate_content")
GEMINI = "gemini-3-pro-preview"


def natives(api: str, number: int, count: int) -> Native:
    """A turn's own items with all that binds them: signatures, reasoning, ids."""
    if api == "anthropic_messages":
        uses = [{"type": "tool_use", "id": f"toolu_{number}_{n}", "name": "look", "input": {}} for n in range(count)]
        thought: JsonValue = {"type": "thinking", "thinking": "Hm.", "signature": f"sig{number}"}
        return Native(api=api, items=[thought, {"type": "text", "text": "Looking."}, *uses])
    if api == "openai_responses":
        made: list[JsonValue] = [
            {"type": "function_call", "id": f"fc_{number}_{n}", "call_id": f"call_{number}_{n}", "name": "look",
             "arguments": "{}", "status": "completed"} for n in range(count)
        ]  # fmt: skip
        said: JsonValue = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]}  # fmt: skip
        reasoning: JsonValue = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
        return Native(api=api, items=[reasoning, said, *made], response_id=f"resp_{number}")
    if api == "openai_chat":
        tool_calls = [
            {"id": f"call_{number}_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for n in range(count)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": "Looking.", "reasoning_content": "Hm."}
        return Native(api=api, items=[message | ({"tool_calls": tool_calls} if count else {})])
    parts: list[dict[str, Any]] = [{"text": "Looking."}, *({"functionCall": {"name": "look", "args": {}}},) * count]
    if count:
        parts[1] = {**parts[1], "thoughtSignature": "c2lnbmF0dXJl"}
    return Native(api=api, model=GEMINI, items=[{"role": "model", "parts": [*parts]}])


def provider_id(api: str, number: int, index: int) -> str | None:
    prefix = {"anthropic_messages": "toolu", "openai_responses": "call", "openai_chat": "call"}.get(api)
    return f"{prefix}_{number}_{index}" if prefix else None


def turn(api: str, number: int, count: int) -> list[Logged]:
    calls = [
        CallPart(id=f"c{number}-{n + 1}", provider_id=provider_id(api, number, n), tool="look", arguments={})
        for n in range(count)
    ]
    made = Turn(
        number=number,
        parts=[TextPart(text="Looking."), *calls],
        native=natives(api, number, count),
        stop="tool_calls" if count else "end",
    )
    return [made, *(Result(call=call.id, tool="look", content=LONG) for call in calls)]


@st.composite
def logs(draw: st.DrawFn, apis: tuple[str, ...] = APIS) -> list[Logged]:
    log: list[Logged] = [Message(text="Look around")]
    for number in range(1, draw(st.integers(1, 7)) + 1):
        log += turn(draw(st.sampled_from(apis)), number, draw(st.integers(0, 2)))
        log += draw(st.lists(st.sampled_from([Message(text="More"), Note(text="n")]), max_size=1))
    if isinstance(log[-1], Turn):
        log.append(Message(text="Go on"))
    return log


def summed_up(context: Context) -> Context:
    """As the workflow notes a summary of what is old."""
    place, until = len(context.log), latest(context.log)
    epoch = Epoch(number=1, began=place, trim_until=until, summary_at=place, summary_until=until)
    return Context([*context.log, Audit(deed="compacted", at=NOW, summary="In short.", epoch=epoch)], epoch)


def wire(transcript: list[Entry], model: str, **fields: Any) -> ModelRequest:
    return ModelRequest(
        model=model, instructions="Be kind.", transcript=transcript, tools=[LOOK], max_output_tokens=4000, **fields
    )


def judged(transcript: list[Entry], **fields: Any) -> None:
    """What each adapter makes of it passes its API's judge."""
    for settings in ({}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}):
        judge_messages(build_request(wire(transcript, "claude-sonnet-4-6", settings=settings, **fields))[0])
    judge_chat(chat_request(wire(transcript, "gpt-4o", **fields), "openai_chat", vendor("api.openai.com")))
    judge_contents(build_body(wire(transcript, GEMINI, **fields)))
    asked = wire(transcript, "gpt-5", **fields)
    form = "whole" if chain_start(asked, "openai_responses") is None else "chained"
    judge_responses(responses_request(asked, "openai_responses", form))  # type: ignore[arg-type]


@given(log=logs())
def test_any_transcript_is_accepted_whole_trimmed_and_summed_up(log: list[Logged]) -> None:
    whole = Context(log, None)
    for context in (whole, whole.trimmed(), summed_up(whole), summed_up(whole.trimmed()).trimmed()):
        judged(context.seen, chains=context.continues)


@given(log=logs(), most=st.integers(500, 20_000))
def test_what_is_to_be_summed_up_is_accepted_also_when_it_was_cut_to_fit(log: list[Logged], most: int) -> None:
    context = Context(log, None).trimmed()
    for told in (context.old, shortened(context.old, most)):
        judged([*told, Message(text=SUM_UP)], tool_choice="none", purpose="summary", chains=False)


# --- OpenAI's own copy of a conversation


def log_of(rounds: int) -> list[Logged]:
    return [Message(text="go"), *(entry for number in range(1, rounds + 1) for entry in turn(APIS[1], number, 1))]


def responses_body(context: Context) -> dict[str, Any]:
    request = wire(context.seen, "gpt-5", chains=context.continues)
    start = chain_start(request, "openai_responses")
    return responses_request(request, "openai_responses", "whole" if start is None else "chained")


@pytest.mark.parametrize("cut", [Context.trimmed, summed_up], ids=["trimmed", "summed-up"])
def test_the_first_call_of_an_epoch_builds_on_no_response_and_the_next_one_does_again(cut: Any) -> None:
    before = Context(log_of(4), None)
    first = cut(before)
    later = Context([*first.log, *turn(APIS[1], 5, 1)], first.epoch)

    assert responses_body(before)["previous_response_id"] == "resp_4"
    assert "previous_response_id" not in responses_body(first)
    assert responses_body(later)["previous_response_id"] == "resp_5"
    judge_responses(responses_body(first))
    judge_responses(responses_body(later))


def test_a_turns_own_items_go_back_verbatim_or_not_at_all() -> None:
    context = summed_up(Context(log_of(4), None))
    body = responses_body(context)
    kept = [item for number in (3, 4) for item in natives(APIS[1], number, 1).items]

    assert [item for item in body["input"] if item.get("id")] == kept
