"""Reads an answer of Anthropic's Messages API into a turn.

Every content block is kept in the turn's native items, those of unknown types too: the API wants its own
blocks back complete. Only `tool_use` blocks are calls for us; server and MCP calls ran at Anthropic.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from activities.providers.anthropic_history import API
from activities.providers.errors import MalformedAnswer
from activities.providers.json_text import clean_json, parse_arguments
from activities.providers.prices import price
from activities.providers.protocol import call_id
from activities.providers.usage_counts import count, counts, measured
from workflows.contracts import (
    CallPart,
    JsonObject,
    Native,
    Part,
    ReasoningPart,
    StopReason,
    TextPart,
    Turn,
    Usage,
)

MAX_TURN_BYTES: Final = 1_400_000
"""What a turn may take in history, where a payload has 2 MB for it and the plan of its calls."""

_STOPS: Final[Mapping[str, StopReason]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "refusal",
}


def read_answer(answer: JsonValue, number: int, model: str) -> Turn:
    """The turn with this number; `model` was asked for. Raises `MalformedAnswer`."""
    try:
        answer = clean_json(answer)
    except ValueError as error:
        raise MalformedAnswer(f"{model} answered with JSON that can't be kept: {error}") from error
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(content, list):
        raise MalformedAnswer(f"{model} answered without a list of content blocks: {str(answer)[:200]}")
    items = [item for item in content if isinstance(item, dict)]
    if len(items) < len(content):
        raise MalformedAnswer(f"{model} answered with a content block that is no object: {str(content)[:200]}")
    stop, detail = _stop(answer)
    parts = list(_parts(items, number))
    model = _string(answer.get("model")) or model
    turn = Turn(
        number=number,
        parts=parts,
        native=Native(api=API, items=content, response_id=_container(answer)),
        stop=stop,
        stop_detail=detail,
        model=model,
        usage=measured(_usage(counts(answer.get("usage")), model), parts),
    )
    size = len(turn.model_dump_json().encode())
    if size > MAX_TURN_BYTES:
        raise MalformedAnswer(
            f"{model} answered with {size} bytes; at most {MAX_TURN_BYTES} can be recorded, lower its max_tokens"
        )
    return turn


def _parts(items: list[JsonObject], number: int) -> Iterator[Part]:
    calls = itertools.count()
    for kind, group in itertools.groupby(items, key=lambda item: item.get("type")):
        if kind == "text":
            # An answer with citations is cut into blocks in the middle of its sentences.
            if words := "".join(_string(item.get("text")) or "" for item in group):
                yield TextPart(text=words)
        elif kind == "thinking":
            yield from (ReasoningPart(text=text) for item in group if (text := _string(item.get("thinking"))))
        elif kind == "tool_use":
            yield from (_call(item, call_id(number, next(calls))) for item in group)


def _call(item: JsonObject, own: str) -> CallPart:
    arguments, raw = parse_arguments(item.get("input"))
    return CallPart(
        id=own,
        provider_id=_string(item.get("id")),
        tool=_string(item.get("name")) or "",
        arguments=arguments,
        raw=raw,
    )


def _stop(answer: JsonObject) -> tuple[StopReason, str | None]:
    reason = _string(answer.get("stop_reason"))
    if reason is None or reason not in _STOPS:
        return "unknown", f"stop_reason {answer.get('stop_reason')!r}"
    if reason == "stop_sequence":
        return "end", _string(answer.get("stop_sequence"))
    if reason == "refusal":
        return "refusal", _refusal(answer.get("stop_details"))
    return _STOPS[reason], reason if reason in ("model_context_window_exceeded", "compaction") else None


def _refusal(details: JsonValue) -> str | None:
    if not isinstance(details, dict):
        return None
    said = [text for key in ("category", "explanation") if (text := _string(details.get(key)))]
    return ": ".join(said) or None


def _container(answer: JsonObject) -> str | None:
    container = answer.get("container")
    return _string(container.get("id")) if isinstance(container, dict) else None


def _usage(usage: JsonObject, model: str) -> Usage:
    iterations = usage.get("iterations")
    # The totals leave out what a compaction or a fallback used; where the passes are listed, they are what is billed.
    passes = [each for each in iterations if isinstance(each, dict)] if isinstance(iterations, list) else []
    passes = passes or [usage]
    cached = sum(count(each, "cache_read_input_tokens") for each in passes)
    written, for_an_hour = (sum(kind) for kind in zip(*map(_written, passes), strict=True))
    spent = Usage(
        input_tokens=sum(count(each, "input_tokens") for each in passes) + cached + written,
        output_tokens=sum(count(each, "output_tokens") for each in passes),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=count(counts(usage.get("output_tokens_details")), "thinking_tokens"),
        model_calls=1,
    )
    # How long a cache lives is no part of the counts that are kept, so what depends on it is priced here.
    cost = price(spent, model, API, for_an_hour) if for_an_hour else None
    return spent.model_copy(update={"cost_usd": cost}) if cost else spent


def _written(usage: JsonObject) -> tuple[int, int]:
    """Tokens written to caches: all of them, and those in a cache that lives for an hour instead of five minutes."""
    lives = counts(usage.get("cache_creation"))
    for_an_hour = count(lives, "ephemeral_1h_input_tokens")
    apart = count(lives, "ephemeral_5m_input_tokens") + for_an_hour
    return max(count(usage, "cache_creation_input_tokens"), apart), for_an_hour


def _string(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
