"""Keeps Anthropic's rules for thinking blocks that are sent back.

Since Claude 5.1 a block is bound to the exact system prompt, tools and messages before it
(platform.claude.com/docs/en/build-with-claude/preserved-thinking). A closing call has a system prompt of its
own, so there each request asks the API to drop blocks that no longer fit; by default it would reject them all.
"""

import re
from collections.abc import Sequence
from typing import Final

from activities.providers.anthropic_history import THINKING, WireMessage
from workflows.contracts import JsonObject

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"

_VERSION = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d{1,2})(?!\d))?")


def fit_thinking(
    model: str, given: JsonObject | None, messages: list[WireMessage]
) -> tuple[JsonObject | None, list[WireMessage]]:
    """The `thinking` setting and the messages, changed as far as this model's rules need it."""
    if given is not None and given.get("type") == "enabled" and not _starts_with_thinking(messages):
        # The API would insist on a block that another provider's turn does not have.
        return None, messages
    if not _binds_thinking(model):
        return given, messages
    thinking = given or {"type": "adaptive"}  # what these models do when nothing is said
    if thinking.get("type") in ("adaptive", "enabled"):
        return {"block_binding": {"prefix_mismatch_behavior": "drop_block"}, **thinking}, messages
    if thinking.get("type") == "disabled":  # a setting that takes no block_binding
        return thinking, [_without_thinking(message) for message in messages]
    return thinking, messages


def _without_thinking(message: WireMessage) -> WireMessage:
    blocks = [block for block in message["content"] if block.get("type") not in THINKING]
    return {"role": message["role"], "content": blocks}


def _binds_thinking(model: str) -> bool:
    version = _VERSION.search(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 1)


def _starts_with_thinking(messages: Sequence[WireMessage]) -> bool:
    """Does the run of tool rounds at the end begin with a thinking block? True where there is none."""
    first: WireMessage | None = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif not any(block.get("type") == "tool_result" for block in message["content"]):
            break
    return first is None or first["content"][0].get("type") in THINKING
