"""What the models of `bench.lane` say, in the form of each API: they look twice, then they answer."""

from stand_ins.books import Body

LOOKS = 2


def responses_answer(body: Body) -> Body:
    """As OpenAI's Responses API answers."""
    looked = sum(item.get("type") == "function_call_output" for item in body["input"])
    call = {"type": "function_call", "call_id": f"call_{looked}", "name": "look", "arguments": "{}"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "seen twice"}]}
    return {
        "id": f"resp_{looked}",
        "status": "completed",
        "model": body["model"],
        "output": [call if looked < LOOKS else text],
        "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
    }


def messages_answer(body: Body) -> Body:
    """As Anthropic's Messages API answers."""
    looked = sum(message["role"] == "assistant" for message in body["messages"])
    use = {"type": "tool_use", "id": f"toolu_{looked}", "name": "look", "input": {}}
    is_last = looked >= LOOKS
    return {
        "id": f"msg_{looked}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": "seen twice"} if is_last else use],
        "stop_reason": "end_turn" if is_last else "tool_use",
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
