"""Anthropic's Message Batches API, which takes the requests in one POST and answers by one file.

A batch carries nothing of ours but the names of its requests, which only its results show. So one whose creation was
never confirmed is found by when it was created and how many requests it has; whoever reads its results checks that the
names are ours, and says which batches were foreign when it asks again.
https://platform.claude.com/docs/en/build-with-claude/batch-processing
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pydantic import JsonValue

from activities.providers.batches import BatchLook, BatchRequest, Intent, Line
from activities.providers.classify import classify_answer
from activities.providers.error_body import read_body
from activities.providers.errors import MalformedAnswer
from activities.providers.jsonl import json_lines
from activities.providers.usage_counts import counts
from workflows.contracts import JsonObject

if TYPE_CHECKING:
    import httpx2

PATH: Final = "/v1/messages/batches"
PAGE: Final = 100
PAGES: Final = 50
SKEW: Final = timedelta(minutes=2)
"""By how much the provider's clock may differ from ours."""

Send = Callable[..., Awaitable["httpx2.Response"]]


class AnthropicBatches:
    """The batches of one workspace. `send(method, path, …)` is one request; it raises `ModelError`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def line(self, custom_id: str, request: BatchRequest) -> JsonObject:
        return {"custom_id": custom_id, "params": request.body}

    async def upload(self, lines: Sequence[bytes]) -> str:
        return ""

    async def create(self, intent: Intent, lines: Sequence[bytes], uploaded: str) -> str:
        content = b'{"requests":[' + b",".join(lines) + b"]}"
        answer = await self._object("post", PATH, content=content, betas=intent.betas)
        if not (batch := _text(answer.get("id"))):
            raise MalformedAnswer(f"a batch was created and has no id: {str(answer)[:200]}")
        return batch

    async def find(self, intent: Intent, foreign: Sequence[str] = ()) -> str | None:
        after: dict[str, str] = {}
        for _ in range(PAGES):
            page = await self._object("get", PATH, params={"limit": str(PAGE), **after})
            found = page.get("data")
            for batch in (counts(each) for each in (found if isinstance(found, list) else [])):
                name, created = _text(batch.get("id")), _time(batch.get("created_at"))
                if created is not None and created < intent.since - SKEW:
                    return None  # the newest come first
                sizes = counts(batch.get("request_counts")).values()
                total = sum(size for size in sizes if isinstance(size, int))
                if total == intent.requests and name and name not in foreign:
                    return name
            last = _text(page.get("last_id"))
            if not page.get("has_more") or not last:
                return None
            after = {"after_id": last}
        return None

    async def look(self, batch: str) -> BatchLook:
        answer = await self._object("get", f"{PATH}/{quote(batch, safe='')}")
        status = _text(answer.get("processing_status"))
        if not status:
            raise MalformedAnswer(f"batch {batch} has no processing_status: {str(answer)[:200]}")
        return BatchLook(status=status, ended=status == "ended", files=("results",) if status == "ended" else ())

    async def lines(self, batch: str, look: BatchLook) -> AsyncIterator[Line]:
        # Not the results_url of the answer: the key would go wherever that leads.
        response = await self._send("get", f"{PATH}/{quote(batch, safe='')}/results", stream=True)
        async for found in json_lines(response):
            yield _line(found)

    async def _object(self, method: str, path: str, **options: Any) -> JsonObject:
        answer = read_body((await self._send(method, path, **options)).text)
        if not isinstance(answer, dict):
            raise MalformedAnswer(f"{path} answered with no JSON object: {str(answer)[:200]!r}")
        if answer.get("type") == "error":
            raise classify_answer(None, {}, answer)
        return answer


def _line(found: JsonObject) -> Line:
    name, result = _text(found.get("custom_id")), counts(found.get("result"))
    kind, message = result.get("type"), result.get("message")
    if kind == "succeeded" and isinstance(message, dict):
        return Line(name, "answered", answer=message)
    if kind == "expired":
        return Line(name, "expired")
    if kind == "canceled":
        return Line(name, "cancelled")
    error = counts(result.get("error"))
    told: JsonValue = error if error.get("type") == "error" else {"type": "error", "error": error or json.dumps(found)}
    return Line(name, "failed", error=classify_answer(None, {}, told))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _time(value: JsonValue) -> datetime | None:
    try:
        return datetime.fromisoformat(_text(value))
    except ValueError:
        return None
