"""How many output tokens a closing call may take, so that a model that thinks has some left to answer with.

Every API counts thinking as output, under the same cap. Turning it off for that one call is no way out: OpenAI's
reasoning models and some of Anthropic's refuse to, and it would change what cached and signed history was made with.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from activities.providers.usage_counts import counts
from workflows.contracts import Entry, JsonObject, ReasoningPart, Turn

ROOM: Final = 8_000
"""Tokens to think with, unless the settings give a larger budget. What is not thought is not paid for."""

_UNASKED: Final = re.compile(r"claude-[a-z]+-(?:[5-9]|\d\d)(?!\d)|gemini-(?!1\.|2\.0)")
"""Models that think when nothing is said, but not on every turn: Claude since 5, Gemini since 2.5."""

_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


def closing_output(answer: int, model: str, settings: Mapping[str, JsonValue], transcript: Sequence[Entry]) -> int:
    """The cap for a call whose answer is to have at most `answer` tokens, thinking not counted."""
    if not _thinks(model, settings, transcript):
        return answer
    budget = counts(settings.get("thinking")).get("budget_tokens") or _google(settings).get("thinkingBudget")
    return answer + max(ROOM, budget if isinstance(budget, int) else 0)


def _google(settings: Mapping[str, JsonValue]) -> JsonObject:
    return counts(counts(settings.get("generationConfig")).get("thinkingConfig"))


def _thinks(model: str, settings: Mapping[str, JsonValue], transcript: Sequence[Entry]) -> bool:
    """As the settings say; where they don't, as the model is known to do, or did so far."""
    mode = counts(settings.get("thinking")).get("type")
    if mode is not None:
        return mode not in ("disabled", "between_tools")  # the second is how Claude Sonnet 5.5 spells the first
    effort = settings.get("reasoning_effort") or counts(settings.get("reasoning")).get("effort")
    if effort is not None:
        return effort != "none"
    if "thinkingBudget" in _google(settings):
        return _google(settings)["thinkingBudget"] != 0
    return _UNASKED.search(model) is not None or any(
        _has_thought(entry) for entry in transcript if isinstance(entry, Turn)
    )


def _has_thought(turn: Turn) -> bool:
    """APIs may keep the text of thinking, or its count, to themselves, but no API all signs of it."""
    native = turn.native.items if turn.native is not None else []
    return (
        turn.usage.reasoning_tokens > 0
        or any(isinstance(part, ReasoningPart) for part in turn.parts)
        or any(counts(item).get("type") in _THOUGHTS for item in native)
    )
