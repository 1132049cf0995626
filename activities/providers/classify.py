"""Maps any failure of a model call, of any SDK, to one `ModelError`, by the rules of `error_table.py`.

SDKs are recognised by the shape of their exceptions (`.response`, class names), never imported: they are slow to
load. Raise what this returns `from None`: a cause is recorded too, and an SDK's message may repeat part of the key.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from activities.providers.error_body import Said, read_body, redact, said
from activities.providers.error_table import CODES, EXCEPTIONS, LATE_CODES, STATUSES, TEXTS, Kind
from activities.providers.errors import (
    ModelError,
    NotFound,
    Overloaded,
    RateLimited,
    Rejected,
    ToolUseFailed,
    Unauthenticated,
)
from activities.providers.retry_delay import retry_delay

KEY_ADVICE = "check the key that the worker has in its environment, and what it may use"


def classify(failure: Exception, now: datetime | None = None) -> ModelError:
    """The `ModelError` for whatever a call raised. Never raises."""
    if isinstance(failure, ModelError):
        return failure
    response = getattr(failure, "response", None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int):
        return classify_answer(status, _headers(response), read_body(_text(response, failure)), now)
    return _without_answer(failure)


def classify_answer(
    status: int | None, headers: Mapping[str, str], body: JsonValue, now: datetime | None = None
) -> ModelError:
    """The `ModelError` for an error answer; `status` None for an error that came inside a 200 or a stream."""
    words = said(body)
    status = status or words.status
    kind = _kind(status, words)
    if kind is not RateLimited:  # OpenAI sends the state of its limits with every answer
        headers = {name: value for name, value in headers.items() if "ratelimit" not in name.lower()}
    delay = retry_delay(headers, body, now or datetime.now(UTC))
    error = kind(
        _message(kind, status, words), status=status, delay=delay, code=words.code, retryable=_told(kind, headers)
    )
    if isinstance(error, ToolUseFailed):
        error.generation = words.generation or ""
    return error


def _kind(status: int | None, words: Said) -> Kind:
    codes, text = set(words.codes), words.text
    for kind, known in CODES:
        if codes & known:
            return kind
    for kind, statuses, texts in TEXTS:
        if status in statuses and any(each in text for each in texts):
            return kind
    if status is not None:
        return STATUSES.get(status, Overloaded if status >= 500 else Rejected)
    return next((LATE_CODES[code] for code in words.codes if code in LATE_CODES), Overloaded)


def _told(kind: Kind, headers: Mapping[str, str]) -> bool | None:
    """`x-should-retry`: "false" always counts; "true" not against what no waiting cures."""
    told = headers.get("x-should-retry", "").lower()
    if told == "true" and kind in (Rejected, NotFound):
        return True
    return False if told == "false" else None


def _message(kind: Kind, status: int | None, words: Said) -> str:
    head = f"HTTP {status}" if status else "an error inside the answer"
    if kind is Unauthenticated:
        return f"the provider refused the key ({head}): {KEY_ADVICE}"
    code = f" ({redact(words.code)})" if words.code else ""
    return f"{head}{code}: {words.told or 'no reason given'}"


def _without_answer(failure: Exception) -> ModelError:
    text = str(failure)
    if isinstance(failure, UnicodeEncodeError) and failure.encoding == "ascii":
        return Unauthenticated(
            "the key holds a character that no HTTP header can carry: set it again, without line breaks"
        )
    if "illegal header" in str(failure.__cause__).lower():
        return Unauthenticated("a header of the request is illegal, most likely by a line break in the key")
    if "authentication method" in text or "api_key" in text:
        return Unauthenticated(f"no key is set: {redact(text)}")
    names = _names(failure)
    kind = next((kind for name, kind in EXCEPTIONS if name in names), ModelError)
    cause = failure.__cause__
    classes = dict.fromkeys(type(each).__name__ for each in (failure, cause) if each is not None)
    reason = redact(text if cause is None else str(cause)) or "no reason given"
    return kind(f"{': '.join([*classes, reason])}{_asked(failure)}")


def _asked(failure: Exception) -> str:
    """Where the request went: what to look at first when nobody answers. A password in the address is left out."""
    try:
        url = failure.request.url  # type: ignore[attr-defined]
        port = f":{url.port}" if url.port else ""
        return f" (asked: {url.scheme}://{url.host}{port})"
    except (AttributeError, RuntimeError):  # none is known; HTTP libraries raise where it was never set
        return ""


def _names(failure: BaseException) -> set[str]:
    """The names of the classes of a failure and of its direct cause, inherited ones included."""
    chain = [failure, failure.__cause__] if failure.__cause__ is not None else [failure]
    return {cls.__name__ for each in chain for cls in type(each).__mro__}


def _headers(response: object) -> Mapping[str, str]:
    headers = getattr(response, "headers", None)
    return dict(headers) if isinstance(headers, Mapping) else {}


def _text(response: object, failure: Exception) -> str:
    """The body as text; what the SDK made of it if the body was not read or can't be decoded."""
    try:
        text = getattr(response, "text", "")
    except Exception:
        text = ""
    body = getattr(failure, "body", None)
    return text if isinstance(text, str) and text else json.dumps(body, default=str) if body is not None else ""
