"""Writes a whole answer as the events in which its API streams it, every text in two pieces."""

import json
from collections.abc import Iterator
from typing import Any


def anthropic(answer: dict[str, Any]) -> str:
    return _events(_anthropic(answer))


def _anthropic(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        begun, deltas = _block(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": answer["stop_reason"]},
        "usage": answer["usage"],
    }
    yield {"type": "message_stop"}


def _block(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _halves(block["text"])]
    if block["type"] == "thinking":
        thinking = [{"type": "thinking_delta", "thinking": piece} for piece in _halves(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thinking, signature]
    if block["type"] == "tool_use":
        given = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(given)]
    return block, []


def chat(answer: dict[str, Any]) -> str:
    return _events(_chat(answer), named=False) + "data: [DONE]\n\n"


def _chat(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [choice] = answer["choices"]
    message = choice["message"]
    head = {"object": "chat.completion.chunk", "model": answer["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant"})
    for key in ("reasoning_content", "content", "refusal"):
        for piece in _halves(message.get(key) or ""):
            yield chunk({key: piece})
    for index, call in enumerate(message.get("tool_calls", [])):
        first, rest = _halves(call["function"]["arguments"])
        function = {**call["function"], "arguments": first}
        yield chunk({"tool_calls": [{"index": index, **call, "function": function}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": rest}}]})
    yield chunk({}, choice["finish_reason"])
    yield {**head, "choices": [], "usage": answer["usage"]}


def responses(answer: dict[str, Any]) -> str:
    return _events(_responses(answer))


def _responses(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}}
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", **place, "item": {**item, "status": "in_progress"}}
        for piece in _halves(item.get("arguments", "")):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{answer['status']}", "response": answer}


def google(answer: dict[str, Any]) -> str:
    return _events(_google(answer), named=False)


def _google(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [candidate] = answer["candidates"]
    for part in candidate["content"]["parts"]:
        yield {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}
    yield {**answer, "candidates": [{**candidate, "content": {"role": "model", "parts": [{"text": ""}]}}]}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _events(bodies: Iterator[dict[str, Any]], *, named: bool = True) -> str:
    name = "event: {}\n" if named else ""
    return "".join(f"{name.format(body.get('type'))}data: {json.dumps(body)}\n\n" for body in bodies)
