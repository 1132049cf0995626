"""Reads what an error body says, whatever its shape, and keeps secrets out of what is told on.

Seen shapes: {"error": {...}}, {"error": "text"}, {"detail": "text" or [{"msg"}]}, {"message"}, a list of these, the
true reason inside `error.metadata.raw` (OpenRouter) or `error.details[].violations` (Google), plain text, and HTML
from something in between.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from activities.providers.json_text import clean_text

MAX_TOLD = 600  # some providers quote the whole request in their message

_CODES = ("code", "type", "status")
_TEXTS = ("message", "detail", "details", "msg", "error", "raw", "title", "reason", "quotaid")
_NESTED = ("error", "errors", "detail", "details", "metadata", "raw", "innererror", "response", "body", "violations")
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|pplx|nvapi|hf)[-_][\w*.-]{6,}"  # keys by their prefix, masked or not
    r"|\bAIza[\w-]{10,}"
    r"|[?&]key=[^\s&]+"
    r"|bearer\s+\S+"
    r"|\S*\*{3,}\S*"  # whatever was masked with stars
    r"|(?<=provided: )\S+"
    r"|\borg-\w+"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",  # account ids
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{0,500}>")


@dataclass(frozen=True)
class Said:
    """The codes (lower case, most telling first) and the texts of an error body."""

    codes: tuple[str, ...]
    texts: tuple[str, ...]
    generation: str | None = None

    @property
    def code(self) -> str | None:
        return next((code for code in self.codes if not code.isdigit()), None)

    @property
    def status(self) -> int | None:
        """An HTTP status that stands in the body only, as in an error inside a 200."""
        numbers = (int(code) for code in self.codes if code.isdigit() and len(code) == 3)
        return next((number for number in numbers if 400 <= number < 600), None)

    @property
    def text(self) -> str:
        """All texts, for matching; in lower case."""
        return "\n".join(self.texts).lower()

    @property
    def told(self) -> str:
        """What may be shown and stored."""
        return redact("; ".join(dict.fromkeys(self.texts)))


def read_body(text: str) -> JsonValue:
    """The body as JSON, or the text itself."""
    try:
        body: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return body


def said(body: JsonValue) -> Said:
    facts = [(key, value.strip()) for key, value in _walk("", body) if value.strip()]
    codes = [value.lower() for name in _CODES for key, value in facts if key == name and value != "error"]
    texts = [value for key, value in facts if key in (*_TEXTS, "")]
    return Said(tuple(codes), tuple(texts), _generation(body))


def redact(text: str) -> str:
    """The text, short and without keys or ids of accounts."""
    plain = " ".join(_TAG.sub(" ", text[: 20 * MAX_TOLD]).split())
    safe = clean_text(_SECRETS.sub("[redacted]", plain))
    return safe if len(safe) <= MAX_TOLD else f"{safe[:MAX_TOLD]}… ({len(text)} characters)"


def _walk(key: str, value: JsonValue, depth: int = 0) -> Iterator[tuple[str, str]]:
    """(key, text) of each fact in the body."""
    if depth > 6:
        return
    if isinstance(value, dict):
        for name, each in value.items():
            if not isinstance(each, dict | list) or name.lower() in _NESTED:
                yield from _walk(name.lower(), each, depth + 1)
    elif isinstance(value, list):
        for each in value[:10]:
            yield from _walk(key, each, depth + 1)
    elif isinstance(value, str):
        inside = read_body(value) if value.lstrip().startswith("{") else value
        if isinstance(inside, str):
            yield key, value
        else:
            yield from _walk(key, inside, depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield key, str(value)


def _generation(body: JsonValue) -> str | None:
    """Groq's `failed_generation`: what the model wrote and the server could not read."""
    error = body.get("error") if isinstance(body, dict) else None
    found = error.get("failed_generation") if isinstance(error, dict) else None
    return clean_text(found if isinstance(found, str) else json.dumps(found)) if found is not None else None
