"""Reads an answer of Google's generateContent API into a turn.

The first candidate's content is kept whole in the turn's native items, parts of unknown kinds too. `finishReason` is
STOP for calls as well, and a prompt that was blocked has no candidate at all.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from activities.providers.error_body import redact
from activities.providers.errors import MalformedAnswer
from activities.providers.google_history import API, called
from activities.providers.google_names import own_name
from activities.providers.json_text import clean_json, clean_text, parse_arguments
from activities.providers.protocol import ModelRequest, call_id
from activities.providers.tool_names import UNKNOWN
from activities.providers.usage_counts import count, counts, measured
from workflows.contracts import CallPart, JsonObject, Native, Part, ReasoningPart, StopReason, TextPart, Turn, Usage

STOPS: Final[Mapping[str, StopReason]] = {
    "STOP": "end",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",  # cut off at a limit of the server's
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
}
"""What is not here is no success: OTHER, TOO_MANY_TOOL_CALLS, NO_IMAGE, and all that is yet to come."""

RESAMPLED: Final = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"})
"""The model wrote what the server could not read: the same request, asked again, mostly gets an answer."""

UNEXPECTED: Final = "UNEXPECTED_TOOL_CALL"
"""The model called what was not declared. The call is in the answer: an error result lets the model go on."""


def read_answer(answer: JsonObject, request: ModelRequest) -> Turn:
    """The turn with the request's number. Raises `MalformedAnswer`."""
    model = _text(answer.get("modelVersion")) or request.model
    candidates = answer.get("candidates")
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    if not isinstance(candidate, dict):
        return _blocked(answer, request, model)
    parts = list(_parts(candidate, request))
    stop, detail = _stop(candidate, parts, model)
    return Turn(
        number=request.turn,
        parts=parts,
        native=_native(candidate, request.model),
        stop=stop,
        stop_detail=detail,
        model=model,
        usage=measured(_usage(answer), parts),
    )


def _blocked(answer: JsonObject, request: ModelRequest, model: str) -> Turn:
    feedback = counts(answer.get("promptFeedback"))
    if not (reason := _text(feedback.get("blockReason"))):
        fields = ", ".join(answer) or "none"
        raise MalformedAnswer(f"{model} answered with no candidate and no reason for it: the fields are {fields}")
    told = ": ".join(filter(None, [reason, _text(feedback.get("blockReasonMessage"))]))
    return Turn(
        number=request.turn,
        stop="content_filter",
        stop_detail=f"the prompt was blocked: {redact(told)}",
        model=model,
        usage=measured(_usage(answer), []),
    )


def _parts(candidate: JsonObject, request: ModelRequest) -> Iterator[Part]:
    content = counts(candidate.get("content"))
    found = content.get("parts")
    items = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    declared = [tool.name for tool in request.tools]
    numbers = itertools.count()
    for kind, group in itertools.groupby(items, key=_kind):
        if kind == "text":
            # One text comes cut into parts wherever a signature or a citation is attached.
            if words := "".join(_text(part.get("text")) for part in group):
                yield TextPart(text=words)
        elif kind == "thought":
            yield from (ReasoningPart(text=text) for part in group if (text := _text(part.get("text"))))
        elif kind == "call":
            for part in group:
                yield _call(called(part) or {}, call_id(request.turn, next(numbers)), declared)


def _kind(part: JsonObject) -> str:
    if called(part) is not None:
        return "call"
    if not isinstance(part.get("text"), str):
        return "other"
    return "thought" if part.get("thought") else "text"


def _call(made: JsonObject, own_id: str, declared: list[str]) -> CallPart:
    if made.get("willContinue") or made.get("partialArgs"):
        raise MalformedAnswer(f"the call of {made.get('name')!r} is only a part of one; nothing of it may run")
    arguments, raw = parse_arguments(made.get("args"))
    return CallPart(
        id=own_id,
        provider_id=_text(made.get("id")) or None,
        tool=own_name(_text(made.get("name")), declared) or UNKNOWN,
        arguments=arguments,
        raw=raw,
    )


def _stop(candidate: JsonObject, parts: list[Part], model: str) -> tuple[StopReason, str | None]:
    reason = _text(candidate.get("finishReason"))
    told = redact(": ".join(filter(None, [reason or "no finishReason", _text(candidate.get("finishMessage"))])))
    calls = any(isinstance(part, CallPart) for part in parts)
    if reason in RESAMPLED or (reason == UNEXPECTED and not calls):
        raise MalformedAnswer(f"{model} wrote a call that Google could not read: {told}")
    if reason == UNEXPECTED:
        return "tool_calls", told
    stop = STOPS.get(reason, "unknown")
    if stop == "end":
        return ("tool_calls" if calls else "end"), None
    return stop, told


def _native(candidate: JsonObject, model: str) -> Native | None:
    content = candidate.get("content")
    if not isinstance(content, dict) or not content.get("parts"):
        return None
    try:
        return Native(api=API, items=[clean_json(content)], model=model)
    except ValueError as error:
        raise MalformedAnswer(f"{model} answered with JSON that can't be kept: {error}") from None


def _usage(answer: JsonObject) -> Usage:
    """Thoughts are counted beside the candidate, results of Google's own tools beside the prompt; both are billed."""
    usage = counts(answer.get("usageMetadata"))
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        output_tokens=count(usage, "candidatesTokenCount") + thoughts,
        cached_tokens=count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
        model_calls=1,
    )


def _text(value: JsonValue) -> str:
    return clean_text(value) if isinstance(value, str) else ""
