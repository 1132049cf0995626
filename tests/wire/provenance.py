"""Checks that what only one provider can read goes back to that provider alone, and as it came.

A judge sees a body; here is known what was given out before: thoughts, signatures, items, stored responses.
"""

import math
from typing import Any

from activities.providers.google_history import PLACEHOLDER
from tests.judge import CLIENT_CALLS
from tests.wire.bodies import Issued


class Foreign(AssertionError):
    """A request holds what its API did not give out, or not so."""


ANTHROPIC_BLOCKS = frozenset(
    {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "web_search_tool_result",
    }
)


def check_anthropic(body: Any, issued: Issued) -> None:
    for block in (block for message in body["messages"] for block in message["content"]):
        if block["type"] not in ANTHROPIC_BLOCKS:
            raise Foreign(f"a block of another API: {block}")
        key = block.get("signature") or block.get("data")
        if key is not None and issued.blocks.get(key) != block:
            raise Foreign(f"{block} is not what was given out: {issued.blocks.get(key)}")


def check_chat(body: Any, issued: Issued) -> None:
    for message in body["messages"]:
        thought = message.get("reasoning_content")
        if thought and thought not in issued.blocks:
            raise Foreign(f"the thought {thought!r} was not given out")


def check_responses(body: Any, issued: Issued) -> None:
    for item in body["input"]:
        if "id" in item and not _is_as_given(item, issued.blocks.get(item["id"])):
            raise Foreign(f"{item} is not what was given out: {issued.blocks.get(item['id'])}")
    previous = body.get("previous_response_id")
    if previous is None:
        return
    if previous not in issued.stored:
        raise Foreign(f"the response {previous!r} is not stored")
    due = [item["call_id"] for item in issued.stored[previous] if item["type"] in CLIENT_CALLS]
    given = [item["call_id"] for item in body["input"] if item.get("type", "").endswith("_output")]
    if sorted(due) != sorted(given):
        raise Foreign(f"No tool output found for function call: {due} are due after {previous}, {given} came")


def _is_as_given(item: Any, given: Any) -> bool:
    """What is bound to a thought by its id must be unchanged."""
    return given is not None and item == given


def check_google(body: Any, model: str, issued: Issued) -> None:
    for part in (part for content in body["contents"] for part in content["parts"]):
        signature = part.get("thoughtSignature")
        if signature in (None, PLACEHOLDER):
            continue
        given = issued.blocks.get(f"{model} {signature}")
        if given is None:
            raise Foreign(f"Corrupted thought signature: {model} did not give out {signature!r}")
        if part["functionCall"]["args"] != _encodable(given["functionCall"]["args"]):
            raise Foreign(f"{part} is not what was given out: {given}")


def _encodable(value: Any) -> Any:
    """The value as JSON can hold it: half a character and a number that is none are left out, as they must be."""
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return (
        value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if isinstance(value, str) else value
    )
