"""Puts thinking and content that come as lists together from their pieces, as vendors of Chat Completions stream them.

Whole answers hold one entry for each thought, so pieces of one are joined: by type and `index` in `reasoning_details`
(OpenRouter and those behind it), by following each other in `content` (Mistral).
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from activities.providers.json_text import continued
from activities.providers.openai_call_deltas import joined
from workflows.contracts import JsonObject

DETAIL_TEXTS: Final[Mapping[str, str]] = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of `reasoning_details` that come in pieces, each with the field that holds a piece."""


def add_details(old: JsonValue, new: JsonValue) -> list[JsonValue]:
    """`reasoning_details` after another piece."""
    details: list[JsonValue] = list(old) if isinstance(old, list) else []
    for piece in new if isinstance(new, list) else []:
        if isinstance(piece, dict):
            known = next((each for each in reversed(details) if _goes_on(each, piece)), None)
            if isinstance(known, dict):
                _join_text(known, piece, DETAIL_TEXTS[str(piece["type"])])
                continue
            piece = dict(piece)
        details.append(piece)
    return details


def add_content(old: JsonValue, new: JsonValue) -> JsonValue:
    """`content` after another piece: a text, or a list of parts once any piece was a list."""
    if isinstance(new, str) and not isinstance(old, list):
        return continued(old if isinstance(old, str) else "", new)
    parts: list[JsonValue] = list(old) if isinstance(old, list) else _text_part(old)
    for piece in new if isinstance(new, list) else _text_part(new):
        last = parts[-1] if parts else None
        if isinstance(last, dict) and isinstance(piece, dict) and last.get("type") == piece.get("type"):
            if piece.get("type") == "text":
                _join_text(last, piece, "text")
                continue
            if piece.get("type") == "thinking":
                thinking = {"thinking": add_content(last.get("thinking"), piece.get("thinking"))}
                parts[-1] = {**last, **piece, **thinking}
                continue
        parts.append(dict(piece) if isinstance(piece, dict) else piece)
    return parts


def thought_in(piece: JsonObject) -> str:
    """The thinking in a piece of a message, once: many vendors send it in two fields."""
    for name in ("reasoning", "reasoning_content"):
        if isinstance(text := piece.get(name), str) and text:
            return text
    details, content = piece.get("reasoning_details"), piece.get("content")
    found = [*(details if isinstance(details, list) else []), *(content if isinstance(content, list) else [])]
    return "".join(_thought(each) for each in found)


def _thought(item: JsonValue) -> str:
    if not isinstance(item, dict):
        return ""
    if item.get("type") == "thinking":
        inner = item.get("thinking")
        pieces = inner if isinstance(inner, list) else [{"text": inner}]
        texts = [piece.get("text") for piece in pieces if isinstance(piece, dict)]
    else:
        texts = [item.get(DETAIL_TEXTS.get(str(item.get("type")), ""))]
    return "".join(text for text in texts if isinstance(text, str))


def _goes_on(known: JsonValue, piece: JsonObject) -> bool:
    """Is the piece more of this detail?"""
    if not isinstance(known, dict) or piece.get("type") not in DETAIL_TEXTS:
        return False
    same_id = not known.get("id") or not piece.get("id") or known["id"] == piece["id"]
    return same_id and (known.get("type"), known.get("index")) == (piece.get("type"), piece.get("index"))


def _join_text(known: JsonObject, piece: JsonObject, name: str) -> None:
    """Join the texts; of all other fields the last that says something counts."""
    before, more = known.get(name), piece.get(name)
    known.update({key: joined(known.get(key), value) for key, value in piece.items() if key != name})
    if isinstance(more, str):
        known[name] = continued(before if isinstance(before, str) else "", more)


def _text_part(text: JsonValue) -> list[JsonValue]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []
