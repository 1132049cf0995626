"""A stand-in for Anthropic's Messages and Message Batches."""

import json
import time
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stand_ins.books import Batch, Body, Books, Dropped, halves

ERRORS: dict[str, tuple[int, str, str]] = {
    "passing": (529, "overloaded_error", "Overloaded"),
    "credit": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    "final": (400, "invalid_request_error", "temperature: range: 0..1"),
}
FATES = {"answered": "succeeded", "failed": "errored", "cancelled": "canceled", "expired": "expired"}


class AnthropicStandIn:
    """Its app serves both APIs under /v1/messages."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._alone, methods=["POST"]),
                Route("/v1/messages/batches", self._create, methods=["POST"]),
                Route("/v1/messages/batches", self._list),
                Route("/v1/messages/batches/{batch}", self._look),
                Route("/v1/messages/batches/{batch}/results", self._results),
            ]
        )

    async def _create(self, request: Request) -> Response:
        order, books = await request.json(), self.books
        await books.point("create")
        if books.shows("key_refused"):
            body = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
            return JSONResponse(body, 401)
        if books.shows("billing_limit"):
            return _error_answer("credit")
        batch = Batch(f"msgbatch_{len(books.batches) + 1}", time.time(), order)
        books.process(batch, [(each["custom_id"], each["params"]) for each in order["requests"]], _error)
        await books.point("created")
        if books.shows("reply_dropped"):
            return Dropped()
        return JSONResponse({**_shown(batch, False), **({"id": ""} if books.shows("empty_id") else {})})

    async def _list(self, request: Request) -> Response:
        found, after = list(reversed(self.books.batches)), request.query_params.get("after_id")
        start = next((place + 1 for place, batch in enumerate(found) if batch.id == after), 0)
        page = found[start : start + int(request.query_params.get("limit", "20"))]
        last = page[-1].id if page else None
        more = start + len(page) < len(found)
        return JSONResponse({"data": [_shown(batch, False) for batch in page], "has_more": more, "last_id": last})

    async def _look(self, request: Request) -> Response:
        await self.books.point("look")
        batch = self._find(request)
        return JSONResponse(_shown(batch, self.books.ended(batch))) if batch else _error_answer("final", 404)

    async def _results(self, request: Request) -> Response:
        batch = self._find(request)
        if batch is None:
            return _error_answer("final", 404)
        lines = [json.dumps(_line(*each)) for each in batch.results]
        return StreamingResponse(halves(self.books, lines), media_type="application/x-jsonl")

    async def _alone(self, request: Request) -> Response:
        body = await request.json()
        return _error_answer("final") if self.books.refuse(body) else JSONResponse(self.books.answered_alone(body))

    def _find(self, request: Request) -> Batch | None:
        return next((each for each in self.books.batches if each.id == request.path_params["batch"]), None)


def _shown(batch: Batch, ended: bool) -> Body:
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    requests = len(batch.order["requests"])
    if ended:
        for _, fate, _ in batch.results:
            counts[FATES[fate]] += 1
    else:
        counts["processing"] = requests
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": counts,
        "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat(),
        "results_url": "https://elsewhere.example/results" if ended else None,
    }


def _line(name: str, fate: str, said: Body) -> Body:
    result: Body = {"type": FATES[fate]}
    if fate == "answered":
        result["message"] = said
    elif fate == "failed":
        result["error"] = said
    return {"custom_id": name, "result": result}


def _error(kind: str) -> Body:
    _, name, message = ERRORS[kind]
    return {"type": "error", "error": {"type": name, "message": message}}


def _error_answer(kind: str, status: int | None = None) -> Response:
    return JSONResponse(_error(kind), status or ERRORS[kind][0])
