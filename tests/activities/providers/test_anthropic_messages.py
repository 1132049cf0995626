"""What the adapter for Anthropic's Messages API sends, and how it reads answers that no recording shows."""

import copy
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from pydantic import JsonValue

from activities.providers.anthropic_history import NO_RESULT
from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.anthropic_request import DEFAULT_MAX_TOKENS
from activities.providers.errors import MalformedAnswer, ModelError, Overloaded, Rejected, TimedOut, Unauthenticated
from activities.providers.prices import price
from activities.providers.protocol import ModelRequest, ToolDeclaration
from activities.providers.rendering import BLANK, GO_ON
from tests.judge_anthropic import judge_messages
from tests.traffic import Answer, Replay
from workflows.contracts import (
    CallPart,
    Entry,
    Message,
    Native,
    Note,
    Part,
    ReasoningPart,
    Result,
    TextPart,
    Turn,
    Usage,
)

MILLION = 1_000_000
FIND = ToolDeclaration("find", "Finds a thing.", {"type": "object", "properties": {}})
ASKED = Message(text="Find it.")
MARK = {"type": "ephemeral"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool_use(identifier: str, given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": "find", "input": {} if given is None else given}


def message(*content: Any, stop: str | None = "end_turn", **changes: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 2}
    return {
        "type": "message",
        "model": "claude-x",
        "content": [*content],
        "stop_reason": stop,
        "usage": usage,
        **changes,
    }


def own_turn(number: int, *blocks: Any, stop: Any = "end", container: str | None = None) -> Turn:
    """A turn that this API answered."""
    uses = [block for block in blocks if block["type"] == "tool_use"]
    parts: list[Part] = [TextPart(text=b["text"]) for b in blocks if b["type"] == "text" and b["text"]]
    parts += [
        CallPart(id=f"c{number}-{i}", provider_id=b["id"], tool=b["name"], arguments=b["input"])
        for i, b in enumerate(uses, 1)
    ]
    native = Native(api="anthropic_messages", items=[*blocks], response_id=container)
    return Turn(number=number, parts=parts, native=native, stop=stop)


def result(call: str, content: str = "found", **changes: Any) -> Result:
    return Result(call=call, tool="find", content=content, **changes)


def provider(replay: Replay) -> AnthropicMessages:
    client = AsyncAnthropic(
        api_key="sk-test", base_url="https://host.invalid", http_client=replay.client(), max_retries=0
    )
    return AnthropicMessages(client)


def request(*transcript: Entry, **changes: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "claude-sonnet-4-5", "instructions": "Be brief.", "tools": [FIND]}
    return ModelRequest(transcript=transcript or (ASKED,), **{**given, **changes})


async def sent(*transcript: Entry, **changes: Any) -> Any:
    """The body that goes out, which the judge has accepted."""
    replay = Replay(Answer(message(text("Fine."))))
    await provider(replay).complete(request(*transcript, **changes))
    judge_messages(replay.sent[0])
    return replay.sent[0]


async def sent_messages(*transcript: Entry, **changes: Any) -> Any:
    body = await sent(*transcript, **{"settings": {"cache_control": None}, **changes})
    return body["messages"]


async def received(answer: Any, **changes: Any) -> Turn:
    return await provider(Replay(Answer(answer))).complete(request(**changes))


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


def tool_result(identifier: str, content: str = "found", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


# --- the body ------------------------------------------------------------------------------------


async def test_a_first_request_in_full() -> None:
    assert await sent() == {
        "model": "claude-sonnet-4-5",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [user({**text("Find it."), "cache_control": MARK})],
        "tools": [
            {
                "name": "find",
                "description": "Finds a thing.",
                "input_schema": {"type": "object", "properties": {}},
                "cache_control": MARK,
            }
        ],
    }


async def test_without_instructions_or_tools_neither_is_sent() -> None:
    body = await sent(instructions=" ", tools=[])

    assert body.keys() == {"model", "max_tokens", "messages"}


async def test_the_closing_call_forbids_tools_that_stay_declared() -> None:
    turn = own_turn(1, tool_use("toolu_1"))
    settings = {"tool_choice": {"type": "auto"}}

    body = await sent(ASKED, turn, result("c1-1"), tool_choice="none", max_output_tokens=700, settings=settings)

    assert body["tool_choice"] == {"type": "none"}
    assert [tool["name"] for tool in body["tools"]] == ["find"]
    assert body["max_tokens"] == 700


async def test_a_history_with_calls_has_tools_even_if_the_agent_lost_them() -> None:
    body = await sent(ASKED, own_turn(1, tool_use("toolu_1")), result("c1-1"), tools=[])

    assert body["tools"] == [
        {
            "name": "find",
            "description": "No longer available.",
            "input_schema": {"type": "object"},
            "cache_control": MARK,
        }
    ]
    assert body["tool_choice"] == {"type": "none"}


async def test_settings_enter_the_body_as_they_are() -> None:
    body = await sent(settings={"stop_sequences": ["END"], "metadata": {"user_id": "u"}, "max_tokens": 99})

    assert (body["stop_sequences"], body["metadata"], body["max_tokens"]) == (["END"], {"user_id": "u"}, 99)


async def test_server_tools_of_the_settings_join_the_declared_ones() -> None:
    body = await sent(settings={"tools": [{"type": "web_search_20260209", "name": "web_search"}]})

    assert [tool["name"] for tool in body["tools"]] == ["web_search", "find"]


async def test_betas_become_a_header() -> None:
    replay = Replay(Answer(message(text("Fine."))))

    await provider(replay).complete(request(settings={"betas": ["one-2026-01-01", "two-2026-01-01"]}))

    assert replay.requests[0].headers["anthropic-beta"] == "one-2026-01-01,two-2026-01-01"
    assert replay.requests[0].url == "https://host.invalid/v1/messages"
    assert "betas" not in replay.sent[0]


@pytest.mark.parametrize("key", ["messages", "model", "stream", "system"])
async def test_settings_that_surefoot_decides_are_rejected(key: str) -> None:
    with pytest.raises(Rejected, match=f"the model settings hold {key}, which Surefoot sets itself"):
        await sent(settings={key: True})


async def test_settings_of_the_wrong_shape_are_rejected() -> None:
    with pytest.raises(Rejected, match="the model setting thinking is 'high'; it must be an object"):
        await sent(settings={"thinking": "high"})


# --- the history ---------------------------------------------------------------------------------


async def test_results_precede_notes_and_messages_in_one_user_message() -> None:
    turn = own_turn(1, text("Both."), tool_use("toolu_1"), tool_use("toolu_2"))

    messages = await sent_messages(
        ASKED, turn, result("c1-1", "one"), result("c1-2", "two"), Note(text="Two left."), Message(text="Hurry.")
    )

    note = text("<harness_note>\nTwo left.\n</harness_note>")
    assert messages == [
        user(text("Find it.")),
        assistant(text("Both."), tool_use("toolu_1"), tool_use("toolu_2")),
        user(tool_result("toolu_1", "one"), tool_result("toolu_2", "two"), note, text("Hurry.")),
    ]


@pytest.mark.parametrize("status", ["error", "denied", "not_executed", "unknown"])
async def test_a_result_that_is_no_success_is_marked_as_error(status: Any) -> None:
    messages = await sent_messages(ASKED, own_turn(1, tool_use("toolu_1")), result("c1-1", "Error: no", status=status))

    assert messages[2] == user(tool_result("toolu_1", "Error: no", is_error=True))


async def test_an_empty_result_says_so() -> None:
    messages = await sent_messages(ASKED, own_turn(1, tool_use("toolu_1")), result("c1-1", ""))

    assert messages[2] == user(tool_result("toolu_1", "(no output)"))


async def test_a_call_that_never_got_a_result_is_answered_all_the_same() -> None:
    turn = own_turn(1, tool_use("toolu_1"), tool_use("toolu_2"))

    messages = await sent_messages(ASKED, turn, result("c1-2"), Message(text="Go on."))

    assert messages[2] == user(tool_result("toolu_1", NO_RESULT, is_error=True), tool_result("toolu_2"), text("Go on."))


async def test_own_blocks_are_sent_verbatim_and_in_order() -> None:
    blocks = [
        {"type": "compaction", "content": "Earlier …", "encrypted_content": "b64"},
        {"type": "redacted_thinking", "data": "b64"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "text", "text": "Look:", "citations": [{"cited_text": "x", "type": "char_location"}]},
        {"type": "brand_new_block", "value": [1, 2.50, None]},
        {**tool_use("toolu_1", {"n": 1.0}), "caller": {"type": "direct"}},
    ]

    messages = await sent_messages(ASKED, own_turn(1, *blocks), result("c1-1"))

    assert json.dumps(messages[1]["content"]) == json.dumps(blocks)


async def test_sending_changes_no_recorded_item() -> None:
    turn = own_turn(1, THOUGHT, text("On it."), tool_use("same"), tool_use("same"))
    before = copy.deepcopy(turn)

    await sent(ASKED, turn, result("c1-1"), result("c1-2"), Note(text="x"))

    assert turn == before


async def test_turns_of_another_api_are_rebuilt_without_their_reasoning() -> None:
    turn = Turn(
        number=1,
        parts=[
            ReasoningPart(text="secret"),
            TextPart(text=" "),
            CallPart(id="c1-1", provider_id="call_9", tool="functions.find", arguments={"q": 1}),
            CallPart(id="c1-2", provider_id="functions.find:0", tool="", arguments=None, raw="{"),
            TextPart(text="Looking."),
        ],
        native=Native(api="openai_responses", items=[{"type": "reasoning", "encrypted_content": "b64"}]),
    )

    messages = await sent_messages(ASKED, turn, result("c1-1"), result("c1-2", "Error: bad JSON", status="error"))

    assert messages[1:] == [
        assistant(
            text("Looking."),
            {"type": "tool_use", "input": {"q": 1}, "id": "call_9", "name": "functions_find"},
            {"type": "tool_use", "input": {}, "id": "c1-2", "name": "_"},
        ),
        user(tool_result("call_9"), tool_result("c1-2", "Error: bad JSON", is_error=True)),
    ]


async def test_own_items_that_do_not_fit_the_calls_are_rebuilt() -> None:
    turn = Turn(number=1, parts=[TextPart(text="Hi.")], native=own_turn(1, text("Hi."), tool_use("toolu_1")).native)

    messages = await sent_messages(ASKED, turn, Message(text="Well?"))

    assert messages[1] == assistant(text("Hi."))


async def test_repeated_ids_are_told_apart_in_calls_and_results() -> None:
    turns = [own_turn(number, tool_use("toolu_1")) for number in (1, 2)]

    messages = await sent_messages(ASKED, turns[0], result("c1-1", "one"), turns[1], result("c2-1", "two"))

    assert messages[1:] == [
        assistant(tool_use("toolu_1")),
        user(tool_result("toolu_1", "one")),
        assistant(tool_use("c2-1")),
        user(tool_result("c2-1", "two")),
    ]


async def test_malformed_arguments_are_sent_back_as_an_object() -> None:
    messages = await sent_messages(ASKED, own_turn_of_raw_input(), result("c1-1", "Error: no object", status="error"))

    assert messages[1] == assistant(tool_use("toolu_1", {}))


def own_turn_of_raw_input() -> Turn:
    native = Native(api="anthropic_messages", items=[tool_use("toolu_1", "[1]")])
    part = CallPart(id="c1-1", provider_id="toolu_1", tool="find", arguments=None, raw="[1]")
    return Turn(number=1, parts=[part], native=native, stop="tool_calls")


@pytest.mark.parametrize("blocks", [[], [text("")], [text(" \n")], [THOUGHT]])
async def test_a_turn_that_says_nothing_is_left_out(blocks: list[Any]) -> None:
    messages = await sent_messages(ASKED, own_turn(1, *blocks), Message(text="Hello?"))

    assert messages == [user(text("Find it."), text("Hello?"))]


async def test_a_message_never_ends_in_thinking() -> None:
    messages = await sent_messages(ASKED, own_turn(1, text("So"), THOUGHT, stop="max_tokens"), Message(text="Go on."))

    assert messages[1] == assistant(text("So"))


async def test_a_blank_message_of_a_person_is_not_sent_blank() -> None:
    assert await sent_messages(Message(text=" ")) == [user(text(BLANK))]


async def test_an_answer_is_never_left_for_the_model_to_continue() -> None:
    messages = await sent_messages(ASKED, own_turn(1, text("A.")), own_turn(2, text("B.")))

    assert messages[1:] == [assistant(text("A.")), user(text(GO_ON)), assistant(text("B.")), user(text(GO_ON))]


# --- calls that run at Anthropic -------------------------------------------------------------------


async def test_a_paused_turn_goes_back_as_it_is() -> None:
    messages = await sent_messages(ASKED, own_turn(1, THOUGHT, SEARCH, stop="pause"))

    assert messages == [user(text("Find it.")), assistant(THOUGHT, SEARCH)]


async def test_the_answer_to_a_paused_turn_joins_it() -> None:
    messages = await sent_messages(
        ASKED, own_turn(1, SEARCH, stop="pause"), own_turn(2, FOUND, text("Here.")), Message(text="Thanks.")
    )

    assert messages[1:] == [assistant(SEARCH, FOUND, text("Here.")), user(text("Thanks."))]


async def test_a_server_call_in_flight_stays_beside_an_answered_client_call() -> None:
    turn = own_turn(1, SEARCH, tool_use("toolu_1"), stop="tool_calls")

    messages = await sent_messages(ASKED, turn, result("c1-1"), Note(text="One left."))

    assert messages[1] == assistant(SEARCH, tool_use("toolu_1"))


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
async def test_an_older_server_call_without_a_result_is_dropped(kind: str) -> None:
    call = {**SEARCH, "type": kind}
    turn = own_turn(1, call, tool_use("toolu_1"), stop="tool_calls")

    messages = await sent_messages(ASKED, turn, result("c1-1"), own_turn(2, text("Done.")), Message(text="And?"))

    assert messages[1] == assistant(tool_use("toolu_1"))


async def test_a_pause_that_a_person_ended_drops_the_call_in_flight() -> None:
    messages = await sent_messages(ASKED, own_turn(1, text("Searching."), SEARCH, stop="pause"), Message(text="Stop."))

    assert messages[1:] == [assistant(text("Searching.")), user(text("Stop."))]


async def test_a_server_result_without_its_call_is_dropped() -> None:
    messages = await sent_messages(ASKED, own_turn(1, FOUND, text("Here.")), Message(text="Thanks."))

    assert messages[1] == assistant(text("Here."))


async def test_code_that_waits_for_a_client_call_is_told_its_container() -> None:
    waiting = own_turn(1, SEARCH, tool_use("toolu_1"), stop="tool_calls", container="container_1")
    done = own_turn(2, FOUND, text("Done."), container="container_1")

    asks = await sent(ASKED, waiting, result("c1-1"))
    later = await sent(ASKED, waiting, result("c1-1"), done, Message(text="And?"))

    assert asks["container"] == "container_1"
    assert "container" not in later


# --- cache marks -----------------------------------------------------------------------------------


def marked(body: Any) -> list[Any]:
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for each in body["messages"] for block in each["content"]]
    return [block for block in blocks if "cache_control" in block]


async def test_the_second_mark_stands_where_the_previous_request_ended() -> None:
    first = own_turn(1, tool_use("toolu_1"))
    many = own_turn(2, *[tool_use(f"toolu_2{index}") for index in range(30)])
    before: list[Entry] = [ASKED, first, result("c1-1")]

    earlier = await sent(*before)
    later = await sent(*before, many, *[result(f"c2-{index}") for index in range(1, 31)])

    assert marked(earlier)[-1] == marked(later)[-2] == tool_result("toolu_1", cache_control=MARK)
    assert marked(later)[-1] == tool_result("toolu_229", cache_control=MARK)
    assert len(marked(later)) == 4


async def test_a_growing_transcript_keeps_what_was_sent_before() -> None:
    entries: list[Entry] = [ASKED]
    bodies = []
    for number in range(1, 6):
        bodies.append(await sent_messages(*entries))
        entries += [own_turn(number, THOUGHT, tool_use("toolu_1")), result(f"c{number}-1"), Note(text=f"{number} used")]

    for shorter, longer in itertools.pairwise(bodies):
        assert longer[: len(shorter)] == shorter


async def test_deferred_tools_carry_no_mark() -> None:
    body = await sent(
        tools=[], settings={"tools": [{"name": "a", "input_schema": {"type": "object"}, "defer_loading": True}]}
    )

    assert [block["text"] for block in marked(body)] == ["Be brief.", "Find it."]


async def test_a_cache_control_of_the_settings_replaces_the_marks() -> None:
    automatic = await sent(settings={"cache_control": {"type": "ephemeral", "ttl": "1h"}})
    none = await sent(settings={"cache_control": None})

    assert (automatic["cache_control"], marked(automatic)) == ({"type": "ephemeral", "ttl": "1h"}, [])
    assert ("cache_control" in none, marked(none)) == (False, [])


# --- thinking --------------------------------------------------------------------------------------

BUDGET = {"type": "enabled", "budget_tokens": 4096}
BETA = "thinking-binding-controls-2026-08-01"


async def test_thinking_is_sent_verbatim() -> None:
    body = await sent(settings={"thinking": BUDGET})

    assert body["thinking"] == BUDGET


async def test_the_thinking_budget_comes_on_top_of_a_small_output_limit() -> None:
    body = await sent(settings={"thinking": BUDGET}, max_output_tokens=500)

    assert body["max_tokens"] == 4596


async def test_a_model_that_thinks_is_not_forced_to_call() -> None:
    choice = {"type": "tool", "name": "find", "disable_parallel_tool_use": True}

    forced = await sent(settings={"tool_choice": choice})
    free = await sent(settings={"tool_choice": choice, "thinking": BUDGET})

    assert forced["tool_choice"] == choice
    assert free["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


async def test_thinking_rests_while_the_round_began_at_another_provider() -> None:
    turn = Turn(number=1, parts=[CallPart(id="c1-1", tool="find", arguments={})])

    body = await sent(ASKED, turn, result("c1-1"), settings={"thinking": BUDGET})
    after = await sent(
        ASKED, turn, result("c1-1"), Turn(number=2, parts=[TextPart(text="So.")]), ASKED, settings={"thinking": BUDGET}
    )

    assert "thinking" not in body
    assert after["thinking"] == BUDGET


@pytest.mark.parametrize(
    ("model", "binds"),
    [
        ("claude-fable-5-1", True),
        ("claude-opus-5-5-20261001", True),
        ("anthropic.claude-haiku-5-5-v1:0", True),
        ("claude-sonnet-6", True),
        ("claude-opus-5-20260901", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-3-7-sonnet-20250219", False),
        ("kimi-k2", False),
    ],
)
async def test_models_that_bind_thinking_are_asked_to_drop_what_no_longer_fits(model: str, binds: bool) -> None:
    replay = Replay(Answer(message(text("Fine."))))

    await provider(replay).complete(request(model=model))

    wanted = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}} if binds else None
    assert replay.sent[0].get("thinking") == wanted
    assert replay.requests[0].headers.get("anthropic-beta") == (BETA if binds else None)


async def test_a_block_binding_of_the_settings_is_kept() -> None:
    thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}

    body = await sent(model="claude-fable-5-2", settings={"thinking": thinking})

    assert body["thinking"] == thinking


async def test_where_thinking_is_switched_off_bound_blocks_are_left_out() -> None:
    settings = {"thinking": {"type": "disabled"}}
    entries: list[Entry] = [ASKED, own_turn(1, THOUGHT, tool_use("toolu_1")), result("c1-1")]

    binding = await sent(*entries, model="claude-opus-5-5", settings=settings)
    older = await sent(*entries, settings=settings)

    assert binding["messages"][1] == assistant(tool_use("toolu_1"))
    assert older["messages"][1] == assistant(THOUGHT, tool_use("toolu_1"))


# --- the answer ------------------------------------------------------------------------------------


async def test_an_answer_in_full() -> None:
    blocks = [THOUGHT, text("On it."), tool_use("toolu_1", {"q": "é"}), SEARCH]

    turn = await received(message(*blocks, stop="tool_use", container={"id": "container_1"}), turn=3)

    assert turn == Turn(
        number=3,
        parts=[
            ReasoningPart(text="Hm."),
            TextPart(text="On it."),
            CallPart(id="c3-1", provider_id="toolu_1", tool="find", arguments={"q": "é"}),
        ],
        native=Native(api="anthropic_messages", items=[*blocks], response_id="container_1"),
        stop="tool_calls",
        model="claude-x",
        usage=Usage(input_tokens=10, output_tokens=2, model_calls=1),
    )


@pytest.mark.parametrize(
    ("reason", "stop", "detail"),
    [
        ("end_turn", "end", None),
        ("tool_use", "tool_calls", None),
        ("max_tokens", "max_tokens", None),
        ("model_context_window_exceeded", "max_tokens", "model_context_window_exceeded"),
        ("pause_turn", "pause", None),
        ("refusal", "refusal", None),
        ("brand_new", "unknown", "stop_reason 'brand_new'"),
        (None, "unknown", "stop_reason None"),
    ],
)
async def test_each_stop_reason_has_its_meaning(reason: str | None, stop: str, detail: str | None) -> None:
    turn = await received(message(text("x"), stop=reason))

    assert (turn.stop, turn.stop_detail) == (stop, detail)


async def test_a_text_cut_into_blocks_is_one_text() -> None:
    turn = await received(message(text("It is "), text("4"), THOUGHT, text("."), text("")))

    assert turn.parts == [TextPart(text="It is 4"), ReasoningPart(text="Hm."), TextPart(text=".")]


async def test_a_call_cut_off_at_the_token_limit_is_told_from_a_whole_one() -> None:
    turn = await received(message(tool_use("toolu_1", {}), stop="max_tokens"))

    assert (turn.stop, [call.id for call in turn.calls]) == ("max_tokens", ["c1-1"])


@pytest.mark.parametrize(("given", "raw"), [("[1]", "[1]"), ([1], "[1]"), (7, "7"), ("{", "{")])
async def test_input_that_is_no_object_is_kept_as_text(given: Any, raw: str) -> None:
    turn = await received(message(tool_use("toolu_1", given)))

    assert [(call.arguments, call.raw) for call in turn.calls] == [(None, raw)]


async def test_nul_and_emoji_pass_and_lone_surrogates_are_replaced() -> None:
    answer = json.dumps(message(text("a\x00b 🙂 \ud800"), tool_use("toolu_1", {"q": "\udfff"})))

    turn = await provider(Replay(Answer(answer))).complete(request())

    assert turn.text == "a\x00b 🙂 \ufffd"
    assert turn.native is not None
    assert turn.native.items[0] == text("a\x00b 🙂 \ufffd")
    assert turn.calls[0].arguments == {"q": "\ufffd"}
    assert Turn.model_validate_json(turn.model_dump_json().encode()) == turn


@pytest.mark.parametrize("nonsense", [-5, "many", None, 10**30, 1.5, [3]])
async def test_a_count_that_is_none_counts_nothing_and_is_unmeasured(nonsense: JsonValue) -> None:
    turn = await received(message(text("x"), usage={"input_tokens": 7, "output_tokens": nonsense}))

    assert turn.usage == Usage(input_tokens=7, model_calls=1, unmeasured=1)


@pytest.mark.parametrize(
    "said",
    [
        "`temperature` is deprecated for this model.",
        "`temperature` may only be set to 1 when thinking is enabled.",
        "top_k: Extra inputs are not permitted",
    ],
)
async def test_a_setting_that_the_model_does_not_take_is_sent_and_its_rejection_names_it(said: str) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    replay = Replay(Answer(error, 400))
    settings = {"temperature": 0.2, "top_k": 5}

    with pytest.raises(Rejected) as raised:
        await provider(replay).complete(request(settings=settings))

    assert {key: replay.sent[0][key] for key in settings} == settings
    assert str(raised.value) == f"HTTP 400 (invalid_request_error): {said}"
    assert not raised.value.retryable


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
async def test_usage_that_is_missing_or_all_zero_is_unmeasured(usage: JsonValue) -> None:
    turn = await received(message(text("x"), usage=usage))

    assert turn.usage == Usage(model_calls=1, unmeasured=1)


@pytest.mark.parametrize(
    ("writes", "cost"),
    [
        ({"cache_creation_input_tokens": MILLION}, 1.25),
        ({"cache_creation": {"ephemeral_5m_input_tokens": MILLION, "ephemeral_1h_input_tokens": 0}}, 1.25),
        (
            {
                "cache_creation_input_tokens": MILLION,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": MILLION},
            },
            2.0,
        ),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 600_000, "ephemeral_1h_input_tokens": 400_000}}, 1.55),
        ({"iterations": [{"cache_creation_input_tokens": 600_000}, {"cache_creation_input_tokens": 400_000}]}, 1.25),
    ],
)
async def test_cache_writes_are_priced_by_how_long_the_cache_lives(writes: dict[str, Any], cost: float) -> None:
    usage = (await received(message(text("x"), model="claude-haiku-4-5", usage=writes))).usage

    assert (usage.input_tokens, usage.cache_write_tokens) == (MILLION, MILLION)
    assert (usage.cost_usd or price(usage, "claude-haiku-4-5", "anthropic_messages")) == pytest.approx(cost)


async def test_thinking_tokens_are_told_apart() -> None:
    usage = {"input_tokens": 1, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 5}}

    assert (await received(message(text("x"), usage=usage))).usage.reasoning_tokens == 5


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("<html>Bad gateway</html>", "answered with no JSON: '<html>Bad gateway</html>'"),
        ("", "answered with no JSON: ''"),
        ([], "without a list of content blocks"),
        ({"content": "text"}, "without a list of content blocks"),
        ({"content": ["text"]}, "a content block that is no object"),
        (message({"type": "deep", "value": json.loads("[" * 150 + "]" * 150)}), r"nested .*100 levels"),
        (message(text("x" * 1_000_000)), r"\d+ bytes; at most 1400000 can be recorded"),
    ],
)
async def test_an_answer_that_cannot_be_kept_is_malformed(answer: Any, problem: str) -> None:
    with pytest.raises(MalformedAnswer, match=problem):
        await received(answer)


# --- failures --------------------------------------------------------------------------------------


async def failure(answer: Answer | Exception) -> tuple[ModelError, int]:
    replay = Replay(answer)
    with pytest.raises(ModelError) as raised:
        await provider(replay).complete(request())
    return raised.value, len(replay.requests)


async def test_an_error_is_raised_after_one_request_whatever_the_client_says() -> None:
    replay = Replay(*[Answer({"type": "error", "error": {"type": "api_error"}}, 500)] * 3)
    client = AsyncAnthropic(api_key="k", base_url="https://host.invalid", http_client=replay.client(), max_retries=2)

    with pytest.raises(Overloaded):
        await AnthropicMessages(client).complete(request())

    assert len(replay.requests) == 1


async def test_an_error_inside_a_success_is_an_error() -> None:
    error, _ = await failure(Answer({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))

    assert isinstance(error, Overloaded)


async def test_a_timeout_and_a_lost_connection_can_be_retried() -> None:
    late, _ = await failure(httpx2.ReadTimeout("slow"))
    lost, _ = await failure(httpx2.ConnectError("refused"))

    assert (type(late), type(lost)) == (TimedOut, Overloaded)


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://host.invalid")


@pytest.mark.usefixtures("no_credentials")
async def test_a_missing_key_is_named_before_anything_is_sent() -> None:
    unset = AnthropicMessages.from_environment()

    with pytest.raises(Unauthenticated, match="no key for Anthropic: set ANTHROPIC_API_KEY"):
        await unset.complete(request())
    await unset.close()


@pytest.mark.usefixtures("no_credentials")
async def test_a_profile_that_is_not_there_fails_the_call_and_not_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "gone")
    unset = AnthropicMessages.from_environment()

    with pytest.raises(Unauthenticated, match=r"no key for Anthropic: .*Config file not found.*'gone'"):
        await unset.complete(request())
    await unset.close()


@pytest.mark.usefixtures("no_credentials")
async def test_the_environment_gives_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://elsewhere.invalid")

    made = AnthropicMessages.from_environment()

    assert isinstance(made._client, AsyncAnthropic)
    assert (made._client.api_key, str(made._client.base_url)) == ("sk-env", "https://elsewhere.invalid")
    assert made._client.max_retries == 0
    await made.close()


def test_importing_the_adapter_does_not_import_the_sdk() -> None:
    program = "import sys, activities.providers.anthropic_messages; print({'anthropic', 'httpx2'} & set(sys.modules))"
    root = Path(__file__).parents[3]

    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"
