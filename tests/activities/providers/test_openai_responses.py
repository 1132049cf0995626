"""What the Responses adapter sends and reads, beyond what recordings show."""

import json
from typing import Any

import pytest

from activities.providers.errors import (
    ContextTooLong,
    MalformedAnswer,
    ModelError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    Rejected,
)
from tests.activities.providers.openai_wire import ADD, request, responses
from tests.judge import judge_responses
from tests.traffic import Answer, Replay
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

USER = Message(text="Add 2 and 3")
UNSTORED = {"store": False}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
ENCRYPTED = {**REASONING, "encrypted_content": "gAAAA"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Adding.", "annotations": []}],
}


def call(arguments: Any = '{"a": 2}', number: int = 1, name: str = "add", **more: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **more,
    }


def answer(*output: Any, **fields: Any) -> Answer:
    return Answer(
        {"id": "resp_1", "status": "completed", "store": True, "error": None, "model": "m-1", "output": list(output)}
        | fields
    )


def refusal(message: str, status: int = 400, **fields: Any) -> Answer:
    return Answer({"error": {"message": message, "type": "invalid_request_error", **fields}}, status)


async def read(said: Answer, **fields: Any) -> Turn:
    return await responses(Replay(said)).complete(request(**fields))


async def sent(transcript: list[Entry], **fields: Any) -> dict[str, Any]:
    """The body that goes out for a transcript; it must satisfy the judge."""
    replay = Replay(answer(SAID))
    await responses(replay).complete(request(transcript, **fields))
    body: dict[str, Any] = replay.sent[0]
    judge_responses(body)
    return body


def result(call_id: str = "c1-1", content: str = "5", **fields: Any) -> Result:
    return Result(call=call_id, tool="add", content=content, **fields)


def types(body: dict[str, Any]) -> list[str]:
    return [item.get("type", item.get("role")) for item in body["input"]]


# --- the request --------------------------------------------------------------------------------


async def test_a_request_carries_model_instructions_tools_and_settings() -> None:
    body = await sent([USER], instructions="Be brief.", max_output_tokens=50, settings={"reasoning": {"effort": "low"}})

    assert body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Add 2 and 3"}],
        "tools": [
            {"type": "function", "name": "add", "description": "Adds.", "parameters": ADD.schema, "strict": False}
        ],
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
    }


async def test_a_closing_call_declares_its_tools_and_forbids_them() -> None:
    turn = await read(answer(call()))

    body = await sent([USER, turn, result()], tool_choice="none", settings={"tool_choice": "required"})

    assert body["tool_choice"] == "none"
    assert len(body["tools"]) == 1
    assert body["previous_response_id"] == "resp_1"


@pytest.mark.parametrize("name", ["stream", "conversation", "previous_response_id"])
async def test_settings_that_would_break_the_adapter_are_refused_before_anything_is_sent(name: str) -> None:
    replay = Replay()

    with pytest.raises(Rejected, match=name):
        await responses(replay).complete(request(settings={name: "x"}))

    assert replay.sent == []


async def test_includes_of_the_settings_are_kept_beside_encrypted_reasoning() -> None:
    body = await sent([USER], settings={"store": False, "include": ["file_search_call.results"]})

    assert body["include"] == ["file_search_call.results", "reasoning.encrypted_content"]


# --- chaining -----------------------------------------------------------------------------------


async def test_results_and_notes_are_chained_to_the_turn_before_them() -> None:
    turn = await read(answer(REASONING, call(), call(number=2)))

    body = await sent([USER, turn, result(), result("c1-2", "6"), Note(text="One round is left.")])

    assert body["previous_response_id"] == "resp_1"
    assert body["input"] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "5"},
        {"type": "function_call_output", "call_id": "call_2", "output": "6"},
        {"role": "user", "content": "<harness_note>\nOne round is left.\n</harness_note>"},
    ]


async def test_a_new_message_of_a_person_sends_everything() -> None:
    turn = await read(answer(REASONING, SAID))

    body = await sent([USER, turn, Message(text="And then?")])

    assert "previous_response_id" not in body
    assert body["input"][1:3] == [REASONING, SAID]


@pytest.mark.parametrize(
    "said",
    [
        answer(call(), store=False),
        answer(call(), store=None),
        answer(call(), id=""),
        answer(call(), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        answer(call(), call()),
        answer(call(call_id="")),
    ],
    ids=["not stored", "not said to be stored", "no id", "incomplete", "repeated call id", "call without id"],
)
async def test_what_can_not_be_chained_to_safely_is_sent_whole(said: Answer) -> None:
    turn = await read(said)

    body = await sent([USER, turn, *(result(each.id) for each in turn.calls)])

    assert "previous_response_id" not in body


async def test_the_own_turn_of_an_older_round_is_chained_to_under_its_own_id() -> None:
    replay = Replay(answer(call(), id="resp_1"), answer(call(number=2), id="resp_2"), answer(SAID))
    provider = responses(replay)
    transcript: list[Entry] = [USER]
    for number in (1, 2):
        transcript += [await provider.complete(request(transcript, turn=number)), result(f"c{number}-1")]

    await provider.complete(request(transcript, turn=3))

    assert [body.get("previous_response_id") for body in replay.sent] == [None, "resp_1", "resp_2"]
    assert [len(body["input"]) for body in replay.sent] == [1, 1, 1]


@pytest.mark.parametrize(
    "lost",
    [
        refusal("Previous response with id 'resp_1' not found.", code="previous_response_not_found"),
        refusal("Not found", 404),
        refusal("Previous response cannot be used for this organization due to Zero Data Retention."),
        refusal("No tool call found for function call output with call_id call_1."),
    ],
)
async def test_a_lost_response_is_answered_by_sending_everything_once(lost: Answer) -> None:
    turn = await read(answer(ENCRYPTED, call()))
    replay = Replay(lost, answer(SAID))

    await responses(replay).complete(request([USER, turn, result()]))

    judge_responses(replay.sent[1])
    assert replay.sent[0]["previous_response_id"] == "resp_1"
    assert "previous_response_id" not in replay.sent[1]
    assert types(replay.sent[1]) == ["user", "reasoning", "function_call", "function_call_output"]


async def test_no_form_is_tried_twice() -> None:
    turn = await read(answer(ENCRYPTED, call()))
    replay = Replay(
        refusal("gone", 404, code="previous_response_not_found"),
        refusal("Item with id 'rs_1' not found."),
        refusal("Item with id 'rs_1' not found."),
    )

    with pytest.raises(Rejected):
        await responses(replay).complete(request([USER, turn, result()]))

    assert [types(body) for body in replay.sent] == [
        ["function_call_output"],
        ["user", "reasoning", "function_call", "function_call_output"],
        ["user", "function_call", "function_call_output"],
    ]


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (refusal("Invalid 'temperature'"), Rejected),
        (refusal("The model does not exist", 404, code="model_not_found"), NotFound),
        (refusal("too long", code="context_length_exceeded"), ContextTooLong),
        (refusal("slow down", 429), RateLimited),
        (refusal("down", 500), Overloaded),
    ],
)
async def test_other_failures_are_raised_after_one_request(failure: Answer, kind: type[ModelError]) -> None:
    replay = Replay(failure)

    with pytest.raises(kind):
        await responses(replay).complete(request())

    assert len(replay.sent) == 1


async def test_a_model_that_does_not_encrypt_is_asked_for_it_only_once() -> None:
    replay = Replay(refusal("Encrypted content is not supported with this model."), answer(SAID), answer(SAID))
    provider = responses(replay)

    for _ in range(2):
        await provider.complete(request(settings=UNSTORED))

    assert [body.get("include") for body in replay.sent] == [["reasoning.encrypted_content"], None, None]


# --- items that go back -------------------------------------------------------------------------


async def test_items_go_back_verbatim_with_everything_that_belongs_to_them() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    unknown = {"type": "crystal_ball", "id": "cb_1", "future": ["rain"]}
    items = [ENCRYPTED, search, unknown, SAID, call(namespace="math")]
    turn = await read(answer(*items))

    body = await sent([USER, turn, result()], settings=UNSTORED)

    assert body["input"][1:6] == items


async def test_unencrypted_reasoning_goes_back_by_its_id_only_while_it_is_stored() -> None:
    turn = await read(answer(REASONING, call()))
    follow_up: list[Entry] = [USER, turn, result(), Message(text="And?")]

    stored = await sent(follow_up)
    unstored = await sent(follow_up, settings=UNSTORED)

    assert stored["input"][1:3] == [REASONING, call()]
    assert unstored["input"][1] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "add",
        "arguments": '{"a": 2}',
    }


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", '{"a": "\\ud800"}'])
async def test_a_turn_with_malformed_arguments_goes_back_as_json_and_without_its_reasoning(arguments: str) -> None:
    turn = await read(answer(ENCRYPTED, call(arguments)))

    body = await sent([USER, turn, result(status="error")], settings=UNSTORED)

    assert turn.calls == [CallPart(id="c1-1", provider_id="call_1", tool="add", raw=arguments)]
    assert types(body) == ["user", "function_call", "function_call_output"]
    assert json.loads(body["input"][1]["arguments"]) == {"malformed_arguments": arguments}
    assert "id" not in body["input"][1]


async def test_a_text_that_had_to_be_cleaned_loses_its_reasoning_and_stays_recordable() -> None:
    said = {**SAID, "content": [{"type": "output_text", "text": "x\ud800"}]}
    turn = await read(answer(ENCRYPTED, said, call('{"a": "\ud800"}')))

    body = await sent([USER, turn, result()], settings=UNSTORED)

    assert turn.text == "x\ufffd"
    assert turn.calls[0].arguments is None
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    assert types(body) == ["user", "assistant", "function_call", "function_call_output"]


@pytest.mark.parametrize("odd", [{}, {"a": 1}, [], 7])
async def test_an_id_that_is_no_text_is_none(odd: Any) -> None:
    turn = await read(answer(call(call_id=odd)))

    body = await sent([USER, turn, result()], settings=UNSTORED)

    assert turn.calls[0].provider_id is None
    assert [item["call_id"] for item in body["input"][1:]] == ["c1-1", "c1-1"]
    judge_responses(body)


async def test_repeated_ids_are_replaced_in_call_and_output_and_the_reasoning_dropped() -> None:
    first = await read(answer(ENCRYPTED, call()), turn=1)
    second = await read(answer(ENCRYPTED, call()), turn=2)

    body = await sent([USER, first, result("c1-1"), second, result("c2-1")], settings=UNSTORED)

    assert types(body) == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call",
        "function_call_output",
    ]
    assert [item["call_id"] for item in body["input"] if "call_id" in item] == ["call_1", "call_1", "c2-1", "c2-1"]


async def test_a_truncated_turn_goes_back_in_neutral_parts() -> None:
    said = answer(
        ENCRYPTED, SAID, call('{"a": '), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    turn = await read(said)

    body = await sent([USER, turn, result(status="not_executed")], settings=UNSTORED)

    assert (turn.stop, turn.stop_detail) == ("max_tokens", "max_output_tokens")
    assert types(body) == ["user", "assistant", "function_call", "function_call_output"]


async def test_reasoning_with_nothing_after_it_is_left_out() -> None:
    alone = await read(answer(ENCRYPTED))
    after = await read(answer(SAID, ENCRYPTED))

    body = await sent([USER, alone, Message(text="Hello?"), after, Message(text="More")], settings=UNSTORED)

    assert types(body) == ["user", "user", "assistant", "user"]


async def test_turns_of_another_api_are_rebuilt_without_their_reasoning() -> None:
    foreign = Turn(
        parts=[
            ReasoningPart(text="Hm."),
            TextPart(text="Adding."),
            CallPart(id="c1-1", provider_id="toolu_1", tool="add"),
        ],
        native=Native(api="anthropic_messages", items=[{"type": "thinking"}], response_id="msg_1"),
    )

    body = await sent([USER, foreign, result()])

    assert "previous_response_id" not in body
    assert body["input"][1:3] == [
        {"role": "assistant", "content": "Adding."},
        {"type": "function_call", "call_id": "toolu_1", "name": "add", "arguments": '{"malformed_arguments": null}'},
    ]


async def test_an_older_response_is_not_chained_to_over_a_turn_of_another_api() -> None:
    own = await read(answer(REASONING, call()))
    foreign = Turn(
        number=2,
        parts=[CallPart(id="c2-1", provider_id="toolu_2", tool="add", arguments={"a": 2})],
        native=Native(api="anthropic_messages", items=[{"type": "tool_use"}], response_id="msg_2"),
    )

    body = await sent([USER, own, result(), Message(text="And then?"), foreign, result("c2-1", "6")])

    assert "previous_response_id" not in body
    assert body["input"][1:3] == [REASONING, call()]
    assert [each.get("call_id") for each in body["input"][5:]] == ["toolu_2", "toolu_2"]


async def test_a_call_whose_answer_can_not_be_a_text_goes_back_as_a_function_call() -> None:
    click = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_1",
        "action": {"type": "click"},
        "status": "completed",
    }
    turn = await read(answer(ENCRYPTED, click))

    body = await sent([USER, turn, result(content="not here", status="error")])

    assert [(each.tool, each.arguments) for each in turn.calls] == [("computer_call", None)]
    assert "previous_response_id" not in body
    assert types(body) == ["user", "function_call", "function_call_output"]
    assert body["input"][2]["output"] == "Error: not here"


@pytest.mark.parametrize(
    ("item", "output"),
    [
        (
            {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["ls"]}},
            {
                "type": "shell_call_output",
                "call_id": "call_1",
                "output": [{"stdout": "", "stderr": "Error: no", "outcome": {"type": "exit", "exit_code": 1}}],
            },
        ),
        (
            {"type": "mcp_approval_request", "id": "mcpr_1", "name": "pay", "arguments": "{}", "server_label": "bank"},
            {
                "type": "mcp_approval_response",
                "approval_request_id": "mcpr_1",
                "approve": False,
                "reason": "Error: no",
            },
        ),
    ],
)
async def test_other_client_side_calls_are_refused_by_their_own_type(
    item: dict[str, Any], output: dict[str, Any]
) -> None:
    turn = await read(answer(item))

    body = await sent([USER, turn, result(content="no", status="error")])

    assert [(each.tool, each.arguments) for each in turn.calls] == [(item["type"], None)]
    assert body["input"] == [output]


async def test_calls_that_the_server_ran_and_answered_are_not_ours() -> None:
    shell = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["ls"]}}
    output = {"type": "shell_call_output", "call_id": "call_1", "output": []}
    search: dict[str, Any] = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}

    turn = await read(answer(shell, output, search, {"type": "mcp_call", "id": "mcp_1"}, SAID))

    assert turn.calls == []
    assert turn.stop == "end"


# --- the answer ---------------------------------------------------------------------------------


async def test_parts_keep_the_order_of_the_items() -> None:
    turn = await read(answer(REASONING, SAID, call(), call("", 2)), turn=4)

    assert turn == Turn(
        number=4,
        parts=[
            ReasoningPart(text="Hm."),
            TextPart(text="Adding."),
            CallPart(id="c4-1", provider_id="call_1", tool="add", arguments={"a": 2}),
            CallPart(id="c4-2", provider_id="call_2", tool="add", arguments={}),
        ],
        native=Native(api="openai_responses", items=[REASONING, SAID, call(), call("", 2)], response_id="resp_1"),
        stop="tool_calls",
        model="m-1",
        usage=Usage(model_calls=1, unmeasured=1),
    )


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, "none"])
async def test_usage_that_is_missing_or_all_zero_is_unmeasured(usage: Any) -> None:
    assert (await read(answer(SAID, usage=usage))).usage == Usage(model_calls=1, unmeasured=1)


async def test_the_order_of_messages_after_calls_is_mended_when_sent() -> None:
    turn = await read(answer(call(), SAID))

    body = await sent([USER, turn, result(), Message(text="And?")])

    assert types(body) == ["user", "assistant", "function_call", "function_call_output", "user"]


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_tokens"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": None}, "max_tokens"),
        ({"status": None}, "end"),
        ({}, "end"),
    ],
)
async def test_the_status_says_why_the_answer_stopped(fields: dict[str, Any], stop: str) -> None:
    assert (await read(answer(SAID, **fields))).stop == stop


async def test_an_empty_output_of_a_completed_answer_is_an_empty_turn() -> None:
    turn = await read(answer())

    assert (turn.parts, turn.stop) == ([], "end")
    assert types(await sent([USER, turn, Message(text="Hello?")])) == ["user", "user"]


async def test_a_refusal_goes_back_as_the_item_that_it_was() -> None:
    refused = {**SAID, "content": [{"type": "refusal", "refusal": "I won't."}]}
    turn = await read(answer(refused))

    body = await sent([USER, turn, Message(text="Please")])

    assert turn.parts == [RefusalPart(text="I won't.")]
    assert body["input"][1] == refused


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "oops"}, Overloaded),
        ({"code": "rate_limit_exceeded", "message": "slow"}, RateLimited),
        ({"code": "insufficient_quota", "message": "pay"}, QuotaExhausted),
        ({"code": "invalid_prompt", "message": "against the usage policy"}, Refused),
    ],
)
async def test_a_failed_response_inside_a_200_is_an_error(error: dict[str, Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        await read(answer(status="failed", error=error))


@pytest.mark.parametrize(
    ("fields", "retryable"),
    [
        ({"status": "queued"}, False),
        ({"status": "in_progress"}, False),
        ({"status": "cancelled"}, True),
        ({"status": "failed"}, True),
        ({"output": None}, True),
    ],
)
async def test_an_answer_that_is_not_whole_is_malformed(fields: dict[str, Any], retryable: bool) -> None:
    with pytest.raises(MalformedAnswer) as caught:
        await read(answer(**fields))

    assert caught.value.retryable is retryable


async def test_odd_items_do_no_harm() -> None:
    odd = [
        None,
        3,
        "text",
        {},
        {"type": None},
        {"type": "message", "content": None},
        {"type": "reasoning", "summary": 1},
    ]

    turn = await read(answer(*odd, SAID))

    assert turn.parts == [TextPart(text="Adding.")]
    assert types(await sent([USER, turn, Message(text="And?")])) == ["user", "assistant", "user"]
