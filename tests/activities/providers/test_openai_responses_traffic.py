"""The Responses adapter on recorded exchanges: answers are replayed, and what it sends next must be what the recorded
provider accepted."""

from typing import Any

import pytest

from activities.providers.errors import MalformedAnswer, Rejected
from tests.activities.providers.openai_traffic import RESPONSES_DIALOGUES
from tests.activities.providers.openai_wire import (
    base_url,
    compared_responses,
    declared,
    request,
    responses,
    transcript_of_responses,
)
from tests.judge import judge_responses
from tests.traffic import Exchange, Replay, exchanges
from workflows.contracts import CallPart, Entry, Message, RefusalPart, Result, TextPart, Turn, Usage


async def _replayed(recorded: list[Exchange], settings: dict[str, Any]) -> tuple[list[Turn], list[dict[str, Any]]]:
    """Go through a recorded dialogue; the turns read and the bodies sent."""
    replay = Replay(*recorded)
    provider = responses(replay, base_url(recorded[0]))
    turns: list[Turn] = []
    for number, exchange in enumerate(recorded, start=1):
        items = [item for item in exchange.request_body["input"] if item.get("role") not in ("developer", "system")]
        transcript = transcript_of_responses(items, turns)
        asked = request(transcript, tools=declared(exchange), turn=number, settings=settings)
        turns.append(await provider.complete(asked))
    return turns, replay.sent


def _recorded_input(exchange: Exchange) -> list[Any]:
    return [item for item in exchange.request_body["input"] if item.get("role") not in ("developer", "system")]


@pytest.mark.parametrize("name", RESPONSES_DIALOGUES)
async def test_each_next_request_says_what_the_recorded_one_said(name: str) -> None:
    recorded = exchanges(name)

    turns, sent = await _replayed(recorded, {"store": False})

    for body, exchange in zip(sent, recorded, strict=True):
        judge_responses(body)
        assert compared_responses(body["input"]) == compared_responses(_recorded_input(exchange))
    assert turns[-1].text


async def test_a_stored_answer_is_chained_to_inside_one_message() -> None:
    recorded = exchanges("openai-responses/parallel_calls_one_tool_error")

    turns, sent = await _replayed(recorded, {})

    judge_responses(sent[1])
    assert turns[0].usage == Usage(model_calls=1, unmeasured=1)  # the recording left it out
    assert turns[0].native is not None
    assert sent[1]["previous_response_id"] == recorded[0].response_body["id"] == turns[0].native.response_id
    assert [(item["type"], item["call_id"]) for item in sent[1]["input"]] == [
        ("function_call_output", "call_LWVp74L5HaH2KNvgVz9PJsrj"),
        ("function_call_output", "call_YnRAWeTyxI91m5uNa5bxXwVO"),
    ]


async def test_an_answer_that_was_not_stored_is_not_chained_to() -> None:
    for name in ("openai-responses/gpt5_parallel_calls_with_reasoning", "deepseek/responses_api_reasoning_text_items"):
        turns, sent = await _replayed(exchanges(name), {})

        assert turns[0].native is not None
        assert turns[0].native.response_id is None
        assert "previous_response_id" not in sent[1]


async def test_reasoning_that_is_neither_stored_nor_encrypted_is_dropped_with_the_ids_of_its_calls() -> None:
    recorded = exchanges("openai-responses/gpt5_parallel_calls_with_reasoning")

    _, sent = await _replayed(recorded, {"store": False})

    calls = [item for item in sent[1]["input"] if item.get("type") == "function_call"]
    accepted = [item for item in recorded[1].request_body["input"] if item.get("type") == "function_call"]
    assert calls == accepted
    assert "reasoning" not in [item.get("type") for item in sent[1]["input"]]


async def test_reasoning_in_clear_goes_back_verbatim() -> None:
    recorded = exchanges("deepseek/responses_api_reasoning_text_items")

    _, sent = await _replayed(recorded, {})

    assert sent[1]["input"][1:3] == recorded[0].response_body["output"]


async def test_encrypted_reasoning_goes_back_byte_for_byte_and_is_asked_for() -> None:
    recorded = exchanges("openai-responses/combined_call_id_history")[0]
    replay = Replay(recorded, recorded)
    provider = responses(replay)

    turn = await provider.complete(request(settings={"store": False}))
    result = Result(call="c1-1", tool="final_result", content="ok")
    await provider.complete(request([Message(text="Go"), turn, result], settings={"store": False}))

    judge_responses(replay.sent[1])
    assert replay.sent[0]["include"] == ["reasoning.encrypted_content"]
    assert replay.sent[1]["input"][1:3] == recorded.response_body["output"]


async def test_a_history_that_is_refused_for_its_reasoning_is_sent_again_plainly_and_once() -> None:
    recorded = exchanges("openai-responses/reasoning_without_following_item_400")
    replay = Replay(*recorded)
    provider = responses(replay)

    turn = await provider.complete(request(tools=()))
    again = await provider.complete(request([Message(text="Life?"), turn, Message(text="Anything to add?")], tools=()))

    assert [item.get("type") for item in replay.sent[1]["input"]] == [None, "reasoning", "message", None]
    assert replay.sent[1]["input"][1:3] == recorded[0].response_body["output"]
    assert replay.sent[2]["input"] == [
        {"role": "user", "content": "Life?"},
        {"role": "assistant", "content": turn.text},
        {"role": "user", "content": "Anything to add?"},
    ]
    assert again.text == recorded[2].response_body["output"][1]["content"][0]["text"]


async def test_an_unfinished_background_answer_is_no_empty_answer_and_is_not_paid_for_twice() -> None:
    recorded = exchanges("openai-responses/background_mode_poll_with_tool")

    with pytest.raises(MalformedAnswer, match="'queued'") as caught:
        await responses(Replay(recorded[0])).complete(request())

    assert caught.value.retryable is False


async def test_background_mode_without_a_store_is_refused_before_anything_is_sent() -> None:
    replay = Replay()

    with pytest.raises(Rejected, match="background=True and store=False"):
        await responses(replay).complete(request(settings={"background": True, "store": False}))

    assert replay.sent == []


async def test_a_finished_background_answer_reads_like_any_other() -> None:
    recorded = exchanges("openai-responses/background_mode_poll_with_tool")

    turn = await responses(Replay(recorded[1])).complete(request())

    assert turn.calls[0].arguments == {"city": "Paris"}


async def _answered(name: str, content: str, **fields: Any) -> tuple[Turn, dict[str, Any]]:
    """The first recorded turn, and the request that carries an error as the result of its only call."""
    recorded = exchanges(name)[0]
    replay = Replay(recorded, recorded)
    provider = responses(replay)
    turn = await provider.complete(request())
    result = Result(call="c1-1", tool=turn.calls[0].tool, content=content, status="error")
    await provider.complete(request([Message(text="Go"), turn, result], **fields))
    judge_responses(replay.sent[1])
    return turn, replay.sent[1]


async def test_a_client_executed_tool_search_is_answered_by_its_own_type() -> None:
    for settings in ({}, {"store": False}):
        turn, sent = await _answered("openai-responses/client_executed_tool_search", "no", settings=settings)

        call_id = "call_dAz29NuO19FtcApDC03CTtjL"
        assert [(call.provider_id, call.tool, call.arguments) for call in turn.calls] == [
            (call_id, "tool_search_call", None)
        ]
        assert sent["input"][-1] == {
            "type": "tool_search_output",
            "call_id": call_id,
            "execution": "client",
            "status": "completed",
            "tools": [],
        }


async def test_a_custom_tool_call_hands_over_raw_text_and_is_answered_by_its_own_type() -> None:
    turn, sent = await _answered("openai-responses/custom_tool_call_lark_grammar", "not a tool of this agent")

    call_id = "call_H8YsBUDPYjNHSq9fWOzwetxr"
    assert turn.calls == [CallPart(id="c1-1", provider_id=call_id, tool="math_exp", raw="4 + 4")]
    assert sent["input"][1] == {"type": "custom_tool_call", "call_id": call_id, "input": "4 + 4", "name": "math_exp"}
    assert sent["input"][2] == {
        "type": "custom_tool_call_output",
        "call_id": call_id,
        "output": "Error: not a tool of this agent",
    }


async def test_an_apply_patch_call_is_answered_as_failed() -> None:
    turn, sent = await _answered("openai-responses/apply_patch_tool_call", "no patches here")

    assert turn.calls[0].tool == "apply_patch_call"
    assert turn.calls[0].arguments is None
    assert sent["previous_response_id"] == "resp_0b04c5f8dfc43af500692749bc5b288197b45e830995fd32d3"
    assert sent["input"] == [
        {
            "type": "apply_patch_call_output",
            "call_id": "call_CdXiGtcRl49Q6Ek20tG9lYOr",
            "status": "failed",
            "output": "Error: no patches here",
        }
    ]


async def test_a_hallucinated_parallel_wrapper_is_one_call_of_an_unknown_tool() -> None:
    turn, sent = await _answered("synthetic-fixtures-not-recordings/openai_hallucinated_parallel_wrapper", "unknown")

    assert [(call.provider_id, call.tool) for call in turn.calls] == [("call_parallel", "parallel")]
    assert [(item["call_id"], item["output"]) for item in sent["input"]] == [("call_parallel", "Error: unknown")]


async def test_a_refusal_part_ends_as_a_refusal() -> None:
    turn = await responses(Replay(*exchanges("openai-responses/refusal_content_part"))).complete(request())

    assert turn.parts == [RefusalPart(text="I'm very sorry, but I can't assist with that.")]
    assert turn.stop == "refusal"


async def test_a_tool_that_an_input_item_declared_is_called_like_any_other() -> None:
    turn = await responses(Replay(*exchanges("openai-responses/additional_tools_input_item"))).complete(request())

    assert [(call.tool, call.arguments) for call in turn.calls] == [("lookup_refund_policy", {"order_id": "order-123"})]


async def test_a_compaction_item_stays_in_the_history_verbatim() -> None:
    compacted = exchanges("openai-responses/compaction_items")[2].response_body
    item = compacted["output"][-1]
    answer = exchanges("openai-responses/compaction_items")[3]
    body = {**answer.response_body, "output": [item, *answer.response_body["output"]]}
    replay = Replay(Exchange("POST", answer.url, 200, None, {}, body), answer)
    provider = responses(replay)

    turn = await provider.complete(request(settings={"store": False}))
    await provider.complete(request([Message(text="And 5+5?"), turn, Message(text="6+6?")], settings={"store": False}))

    assert turn.text == "5 + 5 = 10"
    assert replay.sent[1]["input"][1] == item


async def test_calls_are_grouped_before_their_outputs_for_strict_servers() -> None:
    accepted = exchanges("deepseek/responses_grouped_calls_accepted")[0]
    texts = [item for item in accepted.request_body["input"] if item.get("role") == "assistant"]
    calls = [item for item in accepted.request_body["input"] if item.get("type") == "function_call"]
    messages = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": each["content"]}]}
        for each in texts
    ]
    interleaved = {"status": "completed", "output": [messages[0], calls[0], messages[1], calls[1]]}
    replay = Replay(Exchange("POST", accepted.url, 200, None, {}, interleaved), accepted)
    provider = responses(replay, base_url(accepted))

    turn = await provider.complete(request())
    results: list[Entry] = [
        Result(call="c1-1", tool="read", content="read failed\n\nFix the errors and try again."),
        Result(call="c1-2", tool="view", content="contents"),
    ]
    last = await provider.complete(request([turn, *results, Message(text="Reply exactly: done")]))

    judge_responses(replay.sent[1])
    assert compared_responses(replay.sent[1]["input"]) == compared_responses(accepted.request_body["input"])
    assert last.parts[-1] == TextPart(text="done")


async def test_turns_of_another_provider_are_rebuilt_under_ids_that_fit() -> None:
    recorded = exchanges("cross-provider/anthropic_openai_anthropic_handoff")[2]
    theirs = Turn(
        parts=[
            TextPart(text="Let me look up the USD/EUR exchange rate for you!"),
            CallPart(
                id="c1-1",
                provider_id="toolu_01P4f8oPjzXznuWr5VzTVe4N",
                tool="get_exchange_rate",
                arguments={"pair": "USD/EUR"},
            ),
        ],
    )
    told: list[Entry] = [
        Message(text="What is the USD/EUR exchange rate?"),
        theirs,
        Result(call="c1-1", tool="get_exchange_rate", content="USD/EUR: 0.92"),
        Turn(parts=[TextPart(text=recorded.request_body["input"][6]["content"])]),
        Message(text="Now call get_exchange_rate for GBP/USD without searching again."),
    ]
    replay = Replay(recorded)

    turn = await responses(replay).complete(request(told, turn=3))

    judge_responses(replay.sent[0])
    assert compared_responses(replay.sent[0]["input"]) == compared_responses(recorded.request_body["input"])
    assert [(call.id, call.arguments) for call in turn.calls] == [("c3-1", {"pair": "GBP/USD"})]


async def test_the_first_turn_of_a_failover_keeps_its_reasoning_for_openai_alone() -> None:
    recorded = exchanges("cross-provider/failover_openai_to_anthropic_midrun")[0]

    turn = await responses(Replay(recorded)).complete(request())

    assert [part.kind for part in turn.parts] == ["call"]
    assert turn.native is not None
    assert turn.native.items == recorded.response_body["output"]
    assert turn.usage == Usage(input_tokens=139, output_tokens=32, reasoning_tokens=10, model_calls=1)


async def test_a_whole_dialogue_keeps_call_ids_and_item_ids_apart() -> None:
    recorded = exchanges("cross-provider/openai_to_gemini_replay")[:2]
    replay = Replay(*recorded)
    provider = responses(replay)

    first = await provider.complete(request(settings={"store": False}))
    result = Result(call="c1-1", tool="load_capability", content=recorded[1].request_body["input"][2]["output"])
    await provider.complete(request([Message(text="Refund?"), first, result], turn=2, settings={"store": False}))

    judge_responses(replay.sent[1])
    sent = {key: value for key, value in replay.sent[1]["input"][1].items() if key != "status"}
    assert sent == recorded[1].request_body["input"][1]
    assert replay.sent[1]["input"][2] == recorded[1].request_body["input"][2]
