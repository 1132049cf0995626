"""OpenAI's Batch API, which takes an uploaded file of requests and answers by two files: one of answers, one of errors.

A batch carries our intent in its metadata, so one whose creation was never confirmed is found again in the list.
https://developers.openai.com/api/docs/guides/batch
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from activities.providers.batches import BatchLook, BatchRequest, Fate, Intent, Line
from activities.providers.classify import classify_answer
from activities.providers.errors import MalformedAnswer, ModelError, NotFound, Overloaded, QuotaExhausted
from activities.providers.jsonl import json_lines
from activities.providers.openai_connection import OpenAIConnection
from activities.providers.openai_items import text
from activities.providers.usage_counts import counts
from workflows.contracts import JsonObject

METADATA: Final = "surefoot_intent"
WINDOW: Final = "24h"
PAGE: Final = 100
PAGES: Final = 50
"""How far back a list is read at most: 5,000 batches."""

SKEW: Final = timedelta(hours=1)
"""By how much the provider's clock may differ from ours."""

ENDED: Final = ("completed", "failed", "expired", "cancelled")
GONE: Final[Mapping[str, Fate]] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
"""Codes of requests that were never processed."""

ENQUEUED: Final = "token_limit_exceeded"
"""Too many tokens wait in the account's batches: nothing was processed, and later there is room again."""


class OpenAIBatches:
    """The batches of one account."""

    def __init__(self, connection: OpenAIConnection) -> None:
        self._connection = connection

    def line(self, custom_id: str, request: BatchRequest) -> JsonObject:
        return {"custom_id": custom_id, "method": "POST", "url": request.endpoint, "body": request.body}

    async def upload(self, lines: Sequence[bytes]) -> str:
        answer = await self._connection.upload("requests.jsonl", b"\n".join(lines))
        if not (file := text(answer.get("id"))):
            raise MalformedAnswer(f"the file of requests was uploaded and has no id: {str(answer)[:200]}")
        return file

    async def create(self, intent: Intent, lines: Sequence[bytes], uploaded: str) -> str:
        body: JsonObject = {
            "input_file_id": uploaded,
            "endpoint": intent.endpoint,
            "completion_window": WINDOW,
            "metadata": {METADATA: intent.id},
        }
        answer = await self._connection.post("/batches", body)
        if not (batch := text(answer.get("id"))):
            raise MalformedAnswer(f"a batch was created and has no id: {str(answer)[:200]}")
        return batch

    async def find(self, intent: Intent, foreign: Sequence[str] = ()) -> str | None:
        oldest = (intent.since - SKEW).timestamp()
        after: JsonObject = {}
        for _ in range(PAGES):
            page = await self._connection.get("/batches", {"limit": PAGE, **after})
            found = [counts(each) for each in _list(page.get("data"))]
            for batch in found:
                known = text(batch.get("id"))
                if counts(batch.get("metadata")).get(METADATA) == intent.id and known and known not in foreign:
                    return known
            last = found[-1] if found else {}
            created = last.get("created_at")
            if not page.get("has_more") or (isinstance(created, int | float) and created < oldest):
                return None
            after = {"after": text(last.get("id"))}
        return None

    async def look(self, batch: str) -> BatchLook:
        answer = await self._connection.get(f"/batches/{quote(batch, safe='')}", {})
        status = text(answer.get("status"))
        if not status:
            raise MalformedAnswer(f"batch {batch} has no status: {str(answer)[:200]}")
        files = [text(answer.get(name)) for name in ("output_file_id", "error_file_id")]
        told = [counts(each) for each in _list(counts(answer.get("errors")).get("data"))]
        refused = [line - 1 for each in told if isinstance(line := each.get("line"), int) and line > 0]
        return BatchLook(
            status=status,
            ended=status in ENDED,
            files=tuple(filter(None, files)),
            error=_error(told) if status == "failed" else None,
            refused=tuple(refused),
        )

    async def lines(self, batch: str, look: BatchLook) -> AsyncIterator[Line]:
        for file in look.files:
            response = await self._connection.download(f"/files/{quote(file, safe='')}/content")
            async for found in json_lines(response):
                yield _line(found)


def _line(found: JsonObject) -> Line:
    """One line of either file. An error stands beside the response, or in its body."""
    name, response, error = text(found.get("custom_id")), counts(found.get("response")), found.get("error")
    body, status = response.get("body"), response.get("status_code")
    said = counts(error).get("code")
    if isinstance(said, str) and said in GONE:
        return Line(name, GONE[said])
    if not error and isinstance(body, dict):
        failed = isinstance(status, int) and status >= 400
        if not failed and not body.get("error"):
            return Line(name, "answered", answer=body)
        error = body.get("error") or body
    told: JsonValue = {"error": error} if error else found
    failure = classify_answer(status if isinstance(status, int) and status >= 400 else None, {}, told)
    return Line(name, "failed", error=failure)


def _error(told: Sequence[JsonObject]) -> ModelError:
    """Why a whole batch failed before any of its requests was processed."""
    first = told[0] if told else {}
    code, said = text(first.get("code")), text(first.get("message")) or "no reason was given"
    if code == ENQUEUED:
        return QuotaExhausted(f"the provider took no batch ({code}): {said}", code=code)
    if "file" in said.lower() and "not" in said.lower() and not any(each.get("line") for each in told):
        return NotFound(f"the batch failed ({code}): {said}", code=code, retryable=True)
    error = classify_answer(None, {}, {"error": {"code": code, "message": said}})
    return error if not isinstance(error, Overloaded) else Overloaded(f"the batch failed ({code}): {said}", code=code)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
