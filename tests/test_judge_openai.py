"""The judge of OpenAI requests has teeth: each of its rules refuses a body that was good but for one thing."""

from typing import Any

import pytest

from tests.judge import Unacceptable, judge_chat, judge_responses

FUNCTION: Any = {"name": "find", "parameters": {"type": "object"}}
CALL: Any = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
RESULT: Any = {"role": "tool", "tool_call_id": "call_1", "content": "found"}
ASKED: Any = {"role": "user", "content": "Find it."}
OTHER: Any = {**CALL, "id": "call_2"}


def assistant(*calls: Any, **fields: Any) -> Any:
    return {"role": "assistant", "content": "So.", **({"tool_calls": [*calls]} if calls else {}), **fields}


def named(name: str, arguments: Any = "{}") -> Any:
    return assistant({**CALL, "function": {"name": name, "arguments": arguments}})


def chat(*messages: Any, **fields: Any) -> Any:
    return {
        "model": "m",
        "messages": [ASKED, *messages],
        "tools": [{"type": "function", "function": FUNCTION}],
        **fields,
    }


def test_a_lawful_chat_request_passes() -> None:
    result = {**RESULT, "tool_call_id": "call_2"}

    judge_chat(chat(assistant(CALL, OTHER), result, RESULT, assistant(), ASKED, stream=True, stream_options={}))


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (chat(model=""), "no model"),
        (chat(messages=[]), "messages is empty"),
        (chat({**ASKED, "content": ""}), "empty content"),
        (chat({**ASKED, "content": "\ud800"}), "can't be encoded"),
        (chat({**ASKED, "content": "x" * 10_485_761}), "string too long"),
        (chat({**ASKED, "role": "person"}), "role 'person'"),
        (chat(assistant(CALL)), "have no tool message"),
        (chat(assistant(CALL), ASKED, RESULT), "a user message while"),
        (chat(assistant(CALL), assistant()), "a assistant message while"),
        (chat(assistant(CALL), RESULT, RESULT), "answers none of"),
        (chat(RESULT), "answers none of"),
        (chat(assistant(CALL), {**RESULT, "content": ""}), "empty content"),
        (chat(assistant(CALL, CALL), RESULT, RESULT), "there twice"),
        (chat(assistant(CALL), RESULT, assistant(CALL), RESULT), "there twice"),
        (chat(assistant({**CALL, "id": "x" * 4097})), "longer than"),
        (chat(assistant({**CALL, "id": ""})), "without type or id"),
        (chat(assistant({**CALL, "type": ""})), "without type or id"),
        (chat(assistant(content=None)), "neither content nor tool_calls"),
        (chat(assistant(tool_calls=[])), "tool_calls is empty"),
        (chat(assistant(annotations=[])), "fields that no request has"),
        (chat(named("a.b")), "illegal name"),
        (chat(named("")), "illegal name"),
        (chat(named("find", "{")), "can't be parsed"),
        (chat(named("find", None)), "can't be parsed"),
        (chat(named("find", "[]")), "are no object"),
        (chat(tools=[]), "too short"),
        (chat(tools=None, tool_choice="none"), "tool_choice without tools"),
        (chat(tools=[{"type": "function", "function": {**FUNCTION, "name": "a b"}}]), "illegal names"),
        (chat(stream_options={"include_usage": True}), "stream_options"),
    ],
)
def test_a_broken_rule_of_chat_is_named(broken: Any, fault: str) -> None:
    with pytest.raises(Unacceptable, match=fault):
        judge_chat(broken)


def test_openai_itself_takes_shorter_ids() -> None:
    body = chat(assistant({**CALL, "id": "x" * 41}), {**RESULT, "tool_call_id": "x" * 41})

    judge_chat(body)
    with pytest.raises(Unacceptable, match="longer than 40"):
        judge_chat(body, longest_id=40)


THOUGHT: Any = {"type": "reasoning", "id": "rs_1", "summary": []}
MADE: Any = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "find", "arguments": "{}"}
OUTPUT: Any = {"type": "function_call_output", "call_id": "call_1", "output": "found"}
SECOND: Any = {**MADE, "id": "fc_2", "call_id": "call_2"}
APPROVAL: Any = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "pay", "arguments": "{}"}
DENIED: Any = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False}


def body(*items: Any, **fields: Any) -> Any:
    return {"model": "m", "input": [ASKED, *items], "tools": [{"type": "function", **FUNCTION}], **fields}


def test_a_lawful_responses_request_passes() -> None:
    second = {**OUTPUT, "call_id": "call_2"}

    judge_responses(body(THOUGHT, MADE, SECOND, second, OUTPUT, APPROVAL, DENIED, ASKED, tool_choice="none"))
    judge_responses({"model": "m", "previous_response_id": "resp_1", "input": [OUTPUT]})


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (body(model=""), "no model"),
        (body(input=[]), "input is empty"),
        (body({**ASKED, "content": ""}), "empty content"),
        (body({**ASKED, "content": "\udc00"}), "can't be encoded"),
        (body({**ASKED, "role": "tool"}), "role 'tool'"),
        (body(MADE), "No tool output found"),
        (body(MADE, ASKED, OUTPUT), "a message while"),
        (body(OUTPUT), "answers no open call"),
        (body(MADE, OUTPUT, OUTPUT), "answers no open call"),
        (body(MADE, {**OUTPUT, "type": "custom_tool_call_output"}), "or one that wants function_call_output"),
        (body(MADE, SECOND, OUTPUT, {**MADE, "id": "fc_3", "call_id": "call_3"}), "a call between the outputs"),
        (body(MADE, OUTPUT, {**SECOND, "call_id": "call_1"}, OUTPUT), "there twice"),
        (body({**MADE, "call_id": ""}), "missing, too long"),
        (body({**MADE, "call_id": None}), "missing, too long"),
        (body({**MADE, "call_id": "x" * 65}), "missing, too long"),
        (body({**MADE, "name": "a.b"}), "illegal name"),
        (body({**MADE, "arguments": "["}), "can't be parsed"),
        (body(MADE, OUTPUT, {**SECOND, "id": "fc_1"}, {**OUTPUT, "call_id": "call_2"}), "Duplicate item"),
        (body(APPROVAL), "No tool output found"),
        (body(DENIED), "answers no open call"),
        (body(THOUGHT), "without its required following item"),
        (body(MADE, THOUGHT, OUTPUT), "without its required following item"),
        (body({**THOUGHT, "encrypted_content": "x"}, {**MADE, "id": "fc_1"}, OUTPUT, THOUGHT), "Duplicate item"),
        (body({**THOUGHT, "encrypted_content": "x"}, ASKED), "without its required following item"),
        (body(THOUGHT, MADE, OUTPUT, store=False), "not persisted"),
        (body(tools=[]), "too short"),
        (body(tools=None, tool_choice="none"), "tool_choice without tools"),
        (body(tools=[{"type": "function", **FUNCTION, "name": ""}]), "illegal names"),
    ],
)
def test_a_broken_rule_of_responses_is_named(broken: Any, fault: str) -> None:
    with pytest.raises(Unacceptable, match=fault):
        judge_responses(broken)
