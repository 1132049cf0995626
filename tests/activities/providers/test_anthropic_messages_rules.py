"""Whatever a job's transcript holds, the request made of it keeps the API's rules."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from activities.providers.anthropic_request import build_request
from activities.providers.protocol import ModelRequest, ToolDeclaration, call_id
from tests.judge_anthropic import judge_messages
from workflows.contracts import CallPart, Entry, Message, Native, Note, Part, ReasoningPart, Result, TextPart, Turn

WORDS = st.sampled_from(["", " ", "\n", "Find it.", "é 🙂 \x00"])
IDS = st.sampled_from([None, "", "toolu_1", "toolu_2", "functions.find:0", "c1-1", "c2-1", "ü"])
NAMES = st.sampled_from(["find", "", "functions.find", "x" * 200])
STOPS = st.sampled_from(["end", "tool_calls", "max_tokens", "pause", "refusal", "unknown"])
SERVER_IDS = st.sampled_from(["srvtoolu_1", "srvtoolu_2"])

CALLS = st.tuples(st.just("call"), IDS, NAMES)
OWN_BLOCKS = st.one_of(
    WORDS.map(lambda words: {"type": "text", "text": words}),
    st.just({"type": "thinking", "thinking": "", "signature": "c2ln"}),
    st.just({"type": "redacted_thinking", "data": "b64"}),
    st.just({"type": "brand_new_block"}),
    SERVER_IDS.map(lambda i: {"type": "server_tool_use", "id": i, "name": "web_search", "input": {}}),
    SERVER_IDS.map(lambda i: {"type": "mcp_tool_use", "id": i, "name": "ask", "server_name": "s", "input": {}}),
    SERVER_IDS.map(lambda i: {"type": "web_search_tool_result", "tool_use_id": i, "content": []}),
    st.builds(
        lambda i, name, given: {"type": "tool_use", "id": i or "", "name": name, "input": given},
        IDS,
        NAMES,
        st.sampled_from([{}, {"q": 1}, "[1]"]),
    ),
)
PARTS = st.one_of(WORDS.map(lambda w: ("text", w)), WORDS.map(lambda w: ("reasoning", w)), CALLS)


def own_turn(number: int, blocks: list[Any], stop: Any) -> Turn:
    parts: list[Part] = []
    for block in blocks:
        if block["type"] == "tool_use":
            given = block["input"] if isinstance(block["input"], dict) else None
            own = call_id(number, len(parts))
            parts.append(CallPart(id=own, provider_id=block["id"], tool=block["name"], arguments=given))
    return Turn(number=number, parts=parts, native=Native(api="anthropic_messages", items=blocks), stop=stop)


def foreign_turn(number: int, drawn: list[Any], stop: Any) -> Turn:
    parts: list[Part] = []
    for kind, *rest in drawn:
        if kind == "call":
            parts.append(CallPart(id=call_id(number, len(parts)), provider_id=rest[0], tool=rest[1], arguments={}))
        else:
            parts.append(TextPart(text=rest[0]) if kind == "text" else ReasoningPart(text=rest[0]))
    return Turn(number=number, parts=parts, native=Native(api="openai_chat", items=[]), stop=stop)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Entry]:
    """A person's words, then turns with their results (some lost) and with notes and words after those."""
    entries: list[Entry] = [Message(text=draw(WORDS))]
    for number in range(1, draw(st.integers(1, 6))):
        stop = draw(STOPS)
        if draw(st.booleans()):
            turn = own_turn(number, draw(st.lists(OWN_BLOCKS, max_size=5)), stop)
        else:
            turn = foreign_turn(number, draw(st.lists(PARTS, max_size=5)), stop)
        entries.append(turn)
        for call in turn.calls:
            if draw(st.integers(0, 9)):
                status = draw(st.sampled_from(["ok", "error", "denied", "unknown"]))
                entries.append(Result(call=call.id, tool=call.tool, content=draw(WORDS), status=status))
        entries += [Note(text=words) for words in draw(st.lists(WORDS, max_size=1))]
        entries += [Message(text=words) for words in draw(st.lists(WORDS, max_size=1))]
    return entries


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "thinking": st.sampled_from(
            [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}, {"type": "disabled"}]
        ),
        "tool_choice": st.sampled_from([{"type": "auto"}, {"type": "any"}]),
        "cache_control": st.sampled_from([None, {"type": "ephemeral"}]),
        "max_tokens": st.sampled_from([1, 2000]),
    },
)


@given(
    transcript=transcripts(),
    tools=st.sampled_from([[], [ToolDeclaration("find", "", {"type": "object"})]]),
    tool_choice=st.sampled_from(["auto", "none"]),
    model=st.sampled_from(["claude-sonnet-4-5", "claude-opus-5-5"]),
    max_output_tokens=st.sampled_from([None, 500]),
    settings=SETTINGS,
)
def test_every_transcript_becomes_a_request_that_is_accepted(transcript: list[Entry], **changes: Any) -> None:
    body, _ = build_request(ModelRequest(instructions="", transcript=transcript, **changes))

    sent = json.loads(json.dumps(body))
    judge_messages(sent)
    results = [b for m in sent["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert len(results) == sum(len(entry.calls) for entry in transcript if isinstance(entry, Turn))
