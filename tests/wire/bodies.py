"""Writes an answer in the form of each API, with what only that API has: signatures, encrypted thoughts, items' ids.

Each of these is made once and noted in `Issued`: what comes back in a request must be what was given out there.
"""

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Final

from tests.wire.answers import Called, Said

_USAGE: Final = 40


@dataclass
class Issued:
    """What was given out: by signature the block that carried it, and by response id what the server stored."""

    blocks: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, list[Any]] = field(default_factory=dict)
    count: int = 0

    def next(self) -> int:
        self.count += 1
        return self.count

    def signature(self) -> str:
        return base64.b64encode(f"signature {self.next()}".encode()).decode()

    def id(self, call: Called) -> str:
        return call.id.format(n=self.next())


def anthropic(said: Said, issued: Issued, body: Any) -> dict[str, Any]:
    blocks: list[Any] = [_search_result(block) for block in _running(body)]
    if said.thought:
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": issued.signature()}
        issued.blocks[thinking["signature"]] = thinking
        hidden = {"type": "redacted_thinking", "data": issued.signature()}
        issued.blocks[hidden["data"]] = hidden
        blocks += [thinking, hidden]
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    if said.end == "pause":
        found = {"type": "server_tool_use", "id": f"srvtoolu_{issued.next()}", "name": "web_search", "input": {}}
        blocks.append(found)
    for call in said.calls if said.end != "pause" else ():
        blocks.append({"type": "tool_use", "id": issued.id(call), "name": call.tool, "input": call.fields})
    stop = {"done": "tool_use" if said.calls else "end_turn", "pause": "pause_turn", "unknown": "bored"}
    return {
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": stop.get(said.end, "refusal" if said.end == "content_filter" else said.end),
        "usage": {"input_tokens": _size(body), "output_tokens": _USAGE},
    }


def _running(body: Any) -> list[Any]:
    """The searches that the last message leaves without a result: the API goes on with them."""
    last = body["messages"][-1]
    if last["role"] != "assistant":
        return []
    answered = {block.get("tool_use_id") for block in last["content"]}
    return [b for b in last["content"] if b["type"] == "server_tool_use" and b["id"] not in answered]


def _search_result(block: Any) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": block["id"], "content": []}


def chat(said: Said, issued: Issued, body: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thought:
        message["reasoning_content"] = issued.signature()
        issued.blocks[message["reasoning_content"]] = message["reasoning_content"]
    if said.end == "refusal":
        message |= {"content": None, "refusal": "I won't."}
    elif said.calls:
        made = [(issued.id(call), call) for call in said.calls]
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for id, call in made
        ]
    finish = {"done": "tool_calls" if said.calls else "stop", "max_tokens": "length", "unknown": "bored"}
    choice = {"index": 0, "message": message, "finish_reason": finish.get(said.end, "stop")}
    if said.end == "content_filter":
        choice["finish_reason"] = "content_filter"
    usage = {"prompt_tokens": _size(body), "completion_tokens": _USAGE}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


def responses(said: Said, issued: Issued, body: Any) -> dict[str, Any]:
    output: list[Any] = []
    if said.thought:
        thought = {"type": "reasoning", "id": f"rs_{issued.next()}", "summary": [{"type": "summary_text", "text": "H"}]}
        if "reasoning.encrypted_content" in body.get("include", []):
            thought["encrypted_content"] = issued.signature()
        output.append(thought)
    text = {"type": "output_text", "text": said.text, "annotations": []}
    refused = {"type": "refusal", "refusal": "I won't."}
    if said.text or said.end == "refusal":
        content = refused if said.end == "refusal" else text
        output.append(_item(issued, "message", "msg", role="assistant", content=[content]))
    for call in said.calls if said.end != "refusal" else ():
        fields = {"call_id": issued.id(call), "name": call.tool, "arguments": call.arguments}
        output.append(_item(issued, "function_call", "fc", **fields))
    for item in output:
        issued.blocks[item["id"]] = item
    answer = {"id": f"resp_{issued.next()}", "object": "response", "model": body["model"], "status": "completed"}
    usage = {"input_tokens": _size(body), "output_tokens": _USAGE}
    answer |= {"output": output, "store": body.get("store") is not False, "usage": usage}
    if said.end in ("max_tokens", "content_filter"):
        reason = "max_output_tokens" if said.end == "max_tokens" else said.end
        answer |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    if answer["store"]:
        issued.stored[str(answer["id"])] = output
    return answer


def _item(issued: Issued, kind: str, prefix: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"{prefix}_{issued.next()}", "status": "completed", **fields}


def google(said: Said, issued: Issued, body: Any, model: str) -> dict[str, Any]:
    parts: list[Any] = [{"text": "Hm.", "thought": True}] if said.thought else []
    if said.text:
        parts.append({"text": said.text})
    for number, call in enumerate(said.calls):
        made = {"name": call.tool, "args": call.fields if isinstance(call.fields, dict) else {}}
        id = issued.id(call)
        part: dict[str, Any] = {"functionCall": {"id": id, **made} if id else made}
        if number == 0 and "gemini-3" in model:
            part["thoughtSignature"] = issued.signature()
            issued.blocks[f"{model} {part['thoughtSignature']}"] = part
        parts.append(part)
    ends = {"max_tokens": "MAX_TOKENS", "content_filter": "SAFETY", "refusal": "SAFETY", "unknown": "OTHER"}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": ends.get(said.end, "STOP"), "index": 0}
    usage = {"promptTokenCount": _size(body), "candidatesTokenCount": _USAGE}
    return {"candidates": [candidate], "modelVersion": model, "usageMetadata": usage}


def action(said: Said) -> Said:
    """The answer of a model in schema mode: one JSON object, cut off or not."""
    made: dict[str, object] = {"kind": "answer", "answer": said.text}
    if said.calls:
        made = {"kind": "tool_call", "tool": said.calls[0].tool, "arguments": said.calls[0].fields}
    text = json.dumps({"action": made})
    cut = text[: len(text) // 2] if said.end == "max_tokens" else text
    return Said(text=cut, thought=said.thought, end=said.end, trouble=said.trouble, act=said.act)


def _size(body: Any) -> int:
    return len(json.dumps(body)) // 4
