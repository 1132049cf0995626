"""Reads an answer of the Responses API into a `Turn`.

Its items are kept as they came. The id of the response is kept only if the answer itself says that it is complete and
stored: nothing else may be chained to.
"""

from pydantic import JsonValue

from activities.providers.errors import MalformedAnswer
from activities.providers.json_text import clean_json
from activities.providers.openai_items import call_part, client_calls, kind, text
from activities.providers.protocol import ModelRequest, call_id
from activities.providers.usage_counts import count, counts, measured
from workflows.contracts import (
    JsonObject,
    Native,
    Part,
    ReasoningPart,
    RefusalPart,
    StopReason,
    TextPart,
    Turn,
    Usage,
)


def responses_turn(answer: JsonObject, request: ModelRequest, api: str) -> Turn:
    """The turn of an answer to POST /responses; MalformedAnswer if it is unfinished or has no output."""
    status, output = text(answer.get("status")) or "completed", answer.get("output")
    if status not in ("completed", "incomplete") or not isinstance(output, list):
        # Asking again would pay for a second answer beside the one that may still be in the making.
        raise MalformedAnswer(
            f"the response {text(answer.get('id'))} is {status!r} and holds {type(output).__name__} as its output; "
            'it was not to be made in the background, which settings={"background": True} asks for',
            retryable=status not in ("queued", "in_progress"),
        )
    parts = _parts(output, request.turn)
    stored = status == "completed" and answer.get("store") is True
    return Turn(
        number=request.turn,
        parts=parts,
        native=Native(api=api, items=_kept(output), response_id=(text(answer.get("id")) or None) if stored else None),
        stop=_stop(answer, status, parts),
        stop_detail=_detail(answer),
        model=text(answer.get("model")) or request.model,
        usage=measured(_usage(answer.get("usage")), parts),
        **({"tier": "flex"} if answer.get("service_tier") == "flex" else {}),
    )


def _parts(output: list[JsonValue], turn: int) -> list[Part]:
    waiting = client_calls(output)
    numbers = {id(item): index for index, item in enumerate(waiting)}
    parts: list[Part] = []
    for item in output:
        if not isinstance(item, dict):
            continue
        if id(item) in numbers:
            parts.append(call_part(item, call_id(turn, numbers[id(item)])))
        elif kind(item) == "message":
            parts += _said(item.get("content"))
        elif kind(item) == "reasoning":
            parts += _thought(item)
    return parts


def _said(content: JsonValue) -> list[TextPart | RefusalPart]:
    parts: list[TextPart | RefusalPart] = []
    pieces: list[JsonValue] = content if isinstance(content, list) else [{"text": content}]
    for piece in pieces:
        fields = counts(piece)
        if text(fields.get("text")).strip():
            parts.append(TextPart(text=text(fields.get("text"))))
        elif text(fields.get("refusal")).strip():
            parts.append(RefusalPart(text=text(fields.get("refusal"))))
    return parts


def _thought(item: JsonObject) -> list[Part]:
    pieces: list[JsonValue] = []
    for name in ("summary", "content"):
        found = item.get(name)
        pieces += found if isinstance(found, list) else []
    thought = "\n".join(filter(None, (text(counts(piece).get("text")) for piece in pieces)))
    return [ReasoningPart(text=thought)] if thought.strip() else []


def _kept(output: list[JsonValue]) -> list[JsonValue]:
    """The items verbatim. If a text had to be changed to be kept, the reasoning bound to it is dropped."""
    try:
        cleaned = clean_json(output)
    except ValueError as error:
        raise MalformedAnswer(f"the answer can't be kept: {error}") from None
    assert isinstance(cleaned, list)
    return cleaned if cleaned == output else without_reasoning(cleaned)


def without_reasoning(items: list[JsonValue]) -> list[JsonValue]:
    """The items without reasoning and without the ids that tie others to it: what the API takes as new items.

    Items of hosted tools can't stand without their id, so they go too; a compaction stands for everything before it.
    """
    kept: list[JsonValue] = []
    waiting = {id(item) for item in client_calls(items)}
    for item in items:
        if not isinstance(item, dict):
            continue
        if kind(item) == "compaction":
            kept.append(item)
        elif kind(item) == "message":
            said = "\n".join(part.text for part in _said(item.get("content")))
            kept += [{"role": "assistant", "content": said}] if said else []
        elif id(item) in waiting:
            bound = ("status",) if kind(item) == "mcp_approval_request" else ("id", "status")
            kept.append({key: value for key, value in item.items() if key not in bound})
    return kept


def _stop(answer: JsonObject, status: str, parts: list[Part]) -> StopReason:
    if status == "incomplete":
        reason = text(counts(answer.get("incomplete_details")).get("reason"))
        return "content_filter" if reason == "content_filter" else "max_tokens"
    kinds = {part.kind for part in parts}
    if "call" in kinds:
        return "tool_calls"
    return "refusal" if "refusal" in kinds else "end"


def _detail(answer: JsonObject) -> str | None:
    return text(counts(answer.get("incomplete_details")).get("reason")) or None


def _usage(usage: JsonValue) -> Usage:
    fields = counts(usage)
    return Usage(
        input_tokens=count(fields, "input_tokens"),
        output_tokens=count(fields, "output_tokens"),
        cached_tokens=count(counts(fields.get("input_tokens_details")), "cached_tokens"),
        reasoning_tokens=count(counts(fields.get("output_tokens_details")), "reasoning_tokens"),
        model_calls=1,
    )
