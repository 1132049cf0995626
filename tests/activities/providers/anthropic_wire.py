"""Makes requests of recorded exchanges with Anthropic, and puts bodies into a form in which two can be compared."""

from collections.abc import Iterator, Sequence
from typing import Any

from activities.providers.anthropic_answer import read_answer
from activities.providers.protocol import ModelRequest, ToolDeclaration, call_id
from tests.traffic import Exchange
from workflows.contracts import CallPart, Entry, Message, Native, Part, Result, TextPart, Turn

OURS_TO_SET = {"messages", "model", "stream", "system", "tools"}


def is_anthropic(exchange: Exchange) -> bool:
    return "api.anthropic.com" in exchange.url


def blocks_of(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def texts_of(blocks: Any) -> str:
    return "".join(block["text"] for block in blocks_of(blocks))


def foreign_turn(number: int, blocks: Sequence[Any]) -> Turn:
    """What another provider's adapter would have recorded for the turn that became these blocks."""
    parts: list[Part] = []
    for block in blocks:
        if block["type"] == "text":
            parts.append(TextPart(text=block["text"]))
        else:
            own = call_id(number, sum(isinstance(part, CallPart) for part in parts))
            parts.append(CallPart(id=own, provider_id=block["id"], tool=block["name"], arguments=block["input"]))
    native = Native(api="openai_responses", items=[{"type": "reasoning", "encrypted_content": "secret"}])
    return Turn(number=number, parts=parts, native=native)


def user_entries(blocks: Sequence[Any], turns: Sequence[Turn]) -> Iterator[Entry]:
    calls = {call.provider_id: call for turn in turns for call in turn.calls}
    for block in blocks:
        if block["type"] == "text":
            yield Message(text=block["text"])
        else:
            call = calls[block["tool_use_id"]]
            status = "error" if block.get("is_error") else "ok"
            yield Result(call=call.id, tool=call.tool, content=texts_of(block["content"]), status=status)


def transcript(messages: Sequence[Any], answered: Sequence[Turn | None], model: str) -> list[Entry]:
    """The transcript behind recorded messages; `answered` are the turns so far, None where another API answered."""
    entries: list[Entry] = []
    turns: list[Turn] = []
    for message in messages:
        blocks = blocks_of(message["content"])
        if message["role"] == "user":
            entries += user_entries(blocks, turns)
        elif message["role"] == "assistant":
            number = len(turns) + 1
            turn = answered[number - 1] if number <= len(answered) else read_answer({"content": blocks}, number, model)
            turns.append(turn or foreign_turn(number, blocks))
            entries.append(turns[-1])
    return entries


def request_of(body: Any, answered: Sequence[Turn | None]) -> ModelRequest:
    plain = [t for t in body.get("tools", []) if "input_schema" in t and "defer_loading" not in t]
    settings = {key: value for key, value in body.items() if key not in OURS_TO_SET}
    settings["tools"] = [tool for tool in body.get("tools", []) if tool not in plain]
    entries = transcript(body["messages"], answered, body["model"])
    return ModelRequest(
        model=body["model"],
        instructions=texts_of(body.get("system", "")),
        transcript=entries,
        tools=[ToolDeclaration(t["name"], t.get("description", ""), t["input_schema"]) for t in plain],
        settings=settings,
        turn=1 + sum(isinstance(entry, Turn) for entry in entries),
    )


def neutral(body: Any) -> Any:
    """A body without what carries no meaning: cache marks, short forms, and defaults that some clients leave out."""
    messages = [
        {"role": message["role"], "content": [neutral_block(block) for block in blocks_of(message["content"])]}
        for message in body["messages"]
        if message["role"] != "system"
    ]
    tools = [{k: v for k, v in t.items() if k != "cache_control"} for t in body.get("tools", [])]
    system = texts_of(body.get("system", ""))
    rest = {key: value for key, value in body.items() if key not in OURS_TO_SET | {"cache_control"}}
    return {**rest, "model": body["model"], "messages": messages, "system": system, "tools": sort_by_name(tools)}


def neutral_block(block: Any) -> Any:
    block = without_defaults({key: value for key, value in block.items() if key != "cache_control"})
    if block["type"] == "tool_result":
        block["content"] = texts_of(block["content"]).removeprefix("Error: ")
        block["is_error"] = block.get("is_error", False)
    return block


def without_defaults(value: Any) -> Any:
    if isinstance(value, list):
        return [without_defaults(item) for item in value]
    if isinstance(value, dict):
        defaults: dict[str, Any] = {"citations": None, "caller": {"type": "direct"}}
        return {k: without_defaults(v) for k, v in value.items() if k not in defaults or v != defaults[k]}
    return value


def sort_by_name(tools: list[Any]) -> list[Any]:
    return sorted(tools, key=lambda tool: str(tool["name"]))
