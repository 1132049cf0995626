"""The judge of Anthropic requests agrees with every recorded verdict of the API, and has teeth."""

from typing import Any

import pytest

from tests.judge_anthropic import WouldBeRejected, judge_messages
from tests.traffic import exchanges, names, or_skipped

RECORDINGS = names(["anthropic", "cross-provider"])


def as_blocks(body: Any) -> Any:
    """The request with its short forms written out, and without what this project never sends."""
    messages = []
    for message in body["messages"]:
        content = message["content"]
        if message["role"] != "system":
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            messages.append({"role": message["role"], "content": blocks})
    system = body.get("system", [])
    return {**body, "messages": messages, "system": [{"text": system}] if isinstance(system, str) else system}


@pytest.mark.parametrize("name", or_skipped(RECORDINGS))
def test_what_the_api_accepted_is_accepted(name: str) -> None:
    for exchange in exchanges(name):
        if exchange.status == 200 and "api.anthropic.com" in exchange.url:
            judge_messages(as_blocks(exchange.request_body))


TOOL = {"name": "find", "description": "", "input_schema": {"type": "object"}}
ASKED = {"role": "user", "content": [{"type": "text", "text": "Find it."}]}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
TEXT = {"type": "text", "text": "Well."}
ENABLED = {"type": "enabled", "budget_tokens": 1024}


def assistant(*blocks: Any) -> Any:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> Any:
    return {"role": "user", "content": list(blocks)}


def body(*messages: Any, **changes: Any) -> Any:
    given = {"model": "claude-sonnet-4-5", "max_tokens": 2000, "messages": [ASKED, *messages], "tools": [TOOL]}
    return {**given, **changes}


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (body(messages=[]), "at least one message"),
        (body(max_tokens=0), "max_tokens"),
        (body(model=""), "model: Field required"),
        (body(messages=[{**ASKED, "name": "ann"}]), "unexpected keys"),
        (body(messages=[ASKED, {**assistant(TEXT), "role": "tool"}]), "role: tool"),
        (body(assistant({"text": "a"})), "type: Field required"),
        (body(messages=[user(CALL)]), "tool_use in a user message"),
        (body(assistant(RESULT)), "tool_result in an assistant message"),
        (body(assistant({"type": "text", "text": "\ud800"})), "not valid JSON"),
        (body(assistant({"type": "text", "text": "x" * 32_000_001})), "maximum size"),
        (body(tools=[{**TOOL, "name": "a b"}]), r"tools.0.name"),
        (body(tools=[{**TOOL, "input_schema": {}}]), "must be object"),
        (body(tools=[{**TOOL, "cache_control": {}, "defer_loading": True}]), "deferred tool"),
        (body(messages=[assistant(TEXT)]), "first message must use the user role"),
        (body(user(TEXT)), "same role twice"),
        (body(assistant()), "non-empty content"),
        (body(assistant({"type": "text", "text": " \n"})), "non-whitespace"),
        (body(assistant(TEXT, THOUGHT)), "final block"),
        (body(assistant(CALL)), "without `tool_result`"),
        (body(assistant(CALL), user(TEXT)), "without `tool_result`"),
        (body(assistant(CALL), user(TEXT, RESULT)), "text before a result"),
        (body(assistant(CALL), user(RESULT, RESULT)), "repeated tool_use_id"),
        (body(assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)), "ids must be unique"),
        (body(assistant(TEXT), user(RESULT)), "unexpected or repeated"),
        (body(messages=[user(RESULT)]), "without a `tool_use` before it"),
        (body(assistant({**CALL, "id": "a.b:0"}), user({**RESULT, "tool_use_id": "a.b:0"})), "id: String should match"),
        (body(assistant({**CALL, "name": ""}), user(RESULT)), "name: String should match"),
        (body(assistant({**CALL, "input": "{"}), user(RESULT)), "valid dictionary"),
        (body(assistant(CALL), user(RESULT), tools=[]), "must define tools"),
        (body(tools=[], tool_choice={"type": "none"}), "only be specified while"),
        (body(tools=[TOOL, TOOL]), "names must be unique"),
        (body(assistant(SEARCH, TEXT), user(TEXT)), "server_tool_use without its result"),
        (
            body(assistant(SEARCH, CALL), user(RESULT), assistant(TEXT), user(TEXT)),
            "server_tool_use without its result",
        ),
        (body(assistant({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"})), "without its call"),
        (body(assistant({**THOUGHT, "signature": ""}, TEXT)), "signature: Field required"),
        (body(assistant(CALL), user(RESULT), thinking=ENABLED), "Expected `thinking`"),
        (body(thinking={"type": "enabled", "budget_tokens": 4000}), "greater than the budget"),
        (body(thinking=ENABLED, tool_choice={"type": "any"}), "forces tool use"),
        (body(assistant({**THOUGHT, "cache_control": {}}, TEXT)), "not permitted"),
        (body(user(*[{**TEXT, "cache_control": {}}] * 5)), "same role twice"),
        (body(messages=[user(*[{**TEXT, "cache_control": {}}] * 5)]), "maximum of 4"),
    ],
)
def test_a_broken_rule_is_named(broken: Any, fault: str) -> None:
    with pytest.raises(WouldBeRejected, match=fault):
        judge_messages(broken)
