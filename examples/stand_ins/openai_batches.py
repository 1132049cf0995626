"""A stand-in for OpenAI's files, batches, Responses and Chat Completions."""

import asyncio
import json
import time

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stand_ins.books import Batch, Body, Books, Dropped, halves
from stand_ins.webhook import Webhook

ERRORS: dict[str, tuple[int, Body]] = {
    "passing": (429, {"code": "rate_limit_exceeded", "type": "requests", "message": "Rate limit reached."}),
    "credit": (
        429,
        {"code": "insufficient_quota", "type": "insufficient_quota", "message": "You exceeded your quota."},
    ),
    "final": (400, {"code": "unsupported_value", "type": "invalid_request_error", "message": "Unsupported value."}),
}


class OpenAIStandIn:
    """Its app serves both APIs under /v1. With a `webhook` that is told of each batch that ends."""

    def __init__(self, books: Books, webhook: Webhook | None = None) -> None:
        self.books, self.webhook = books, webhook
        self._files: dict[str, bytes] = {}
        self.app = Starlette(
            routes=[
                Route("/v1/files", self._upload, methods=["POST"]),
                Route("/v1/files/{file}/content", self._content),
                Route("/v1/batches", self._create, methods=["POST"]),
                Route("/v1/batches", self._list),
                Route("/v1/batches/{batch}", self._look),
                Route("/v1/responses", self._alone, methods=["POST"]),
                Route("/v1/chat/completions", self._alone, methods=["POST"]),
            ]
        )

    @property
    def uploads(self) -> int:
        return sum(name.startswith("file-in") for name in self._files)

    async def _upload(self, request: Request) -> Response:
        await self.books.point("upload")
        if self.books.shows("key_refused"):
            return JSONResponse({"error": {"code": "invalid_api_key", "message": "Incorrect API key provided."}}, 401)
        async with request.form() as form:
            sent = form["file"]
            assert not isinstance(sent, str)
            name = f"file-in-{len(self._files)}"
            self._files[name] = await sent.read()
        await self.books.point("uploaded")
        return JSONResponse({"id": name, "object": "file", "purpose": "batch"})

    async def _content(self, request: Request) -> Response:
        content = self._files.get(request.path_params["file"])
        if content is None:
            return _no_such("file")
        lines = content.decode().splitlines()
        return StreamingResponse(halves(self.books, lines), media_type="application/jsonl")

    async def _create(self, request: Request) -> Response:
        order, books = await request.json(), self.books
        await books.point("create")
        content = self._files.get(order["input_file_id"])
        if content is None or books.shows("file_not_found"):
            return _no_such("file")
        if books.shows("billing_limit"):
            body = {"error": {"code": "billing_hard_limit_reached", "message": "Billing hard limit has been reached."}}
            return JSONResponse(body, 400)
        batch = Batch(f"{books.name}_{len(books.batches) + 1}", time.time(), order)
        requests = [json.loads(line) for line in content.splitlines()]
        if books.shows("token_limit"):
            batch.status, batch.error = "failed", "token_limit_exceeded"
            books.batches.append(batch)
        else:
            books.process(batch, [(each["custom_id"], each["body"]) for each in requests], _error)
        await books.point("created")
        shown = {**self._shown(batch, False), **({"id": ""} if books.shows("empty_id") else {})}
        reply = Dropped() if books.shows("reply_dropped") else JSONResponse(shown)
        if self.webhook is not None and not books.held:
            reply.background = BackgroundTask(self._end_later, batch)
        return reply

    async def release(self) -> None:
        """Let all batches end that were held, and tell so."""
        self.books.held = False
        for batch in self.books.batches:
            await self._end(batch)

    async def _end_later(self, batch: Batch) -> None:
        await asyncio.sleep(self.webhook.after if self.webhook is not None else 0.0)
        await self._end(batch)

    async def _end(self, batch: Batch) -> None:
        batch.is_over = True
        if self.webhook is not None:
            await self.webhook.send(batch.status, batch.id)

    async def _list(self, request: Request) -> Response:
        found, after = list(reversed(self.books.batches)), request.query_params.get("after")
        start = next((place + 1 for place, batch in enumerate(found) if batch.id == after), 0)
        limit = int(request.query_params.get("limit", "20"))
        page = [self._shown(batch, False) for batch in found[start : start + limit]]
        return JSONResponse({"object": "list", "data": page, "has_more": len(found) > start + limit})

    async def _look(self, request: Request) -> Response:
        await self.books.point("look")
        batch = next((each for each in self.books.batches if each.id == request.path_params["batch"]), None)
        return JSONResponse(self._shown(batch, self.books.ended(batch))) if batch else _no_such("batch")

    async def _alone(self, request: Request) -> Response:
        body = await request.json()
        if self.books.refuse(body):
            status, error = ERRORS["final"]
            return JSONResponse({"error": error}, status)
        return JSONResponse(self.books.answered_alone(body))

    def _shown(self, batch: Batch, ended: bool) -> Body:
        shown: Body = {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.order["endpoint"],
            "input_file_id": batch.order["input_file_id"],
            "completion_window": "24h",
            "status": batch.status if ended else "in_progress",
            "created_at": int(batch.created),
            "metadata": batch.order.get("metadata"),
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
        }
        if ended and batch.error:
            shown["errors"] = {"object": "list", "data": [{"code": batch.error, "message": "Enqueued token limit."}]}
        elif ended and not batch.results:
            shown |= {"output_file_id": "", "error_file_id": ""}
        elif ended:
            shown |= self._written(batch)
        return shown

    def _written(self, batch: Batch) -> Body:
        """Write the files of a batch that has ended; their names."""
        answers = [_line(*each) for each in batch.results if each[1] == "answered"]
        errors = [_line(*each) for each in batch.results if each[1] != "answered"]
        names: Body = {}
        for kind, lines in (("output_file_id", answers), ("error_file_id", errors)):
            if lines:
                names[kind] = f"file-{kind[:3]}-{batch.id}"
                self._files[names[kind]] = "\n".join(map(json.dumps, lines)).encode()
        return names


def _line(name: str, fate: str, said: Body) -> Body:
    """A line of a file. Of the two shapes that errors have, each comes up."""
    if fate == "answered":
        response = {"status_code": 200, "request_id": f"req_{name}", "body": said}
        return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None}
    if fate in ("expired", "cancelled"):
        error = {"code": f"batch_{fate}", "message": "This request could not be executed."}
        return {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": error}
    if int(name.rpartition("-")[2]) % 4 == 3:
        return {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": said["error"]}
    response = {"status_code": said["status"], "request_id": f"req_{name}", "body": {"error": said["error"]}}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None}


def _error(kind: str) -> Body:
    status, error = ERRORS[kind]
    return {"status": status, "error": error}


def _no_such(what: str) -> Response:
    error = {"type": "invalid_request_error", "message": f"No such {what.capitalize()} object.", "code": None}
    return JSONResponse({"error": error}, 404)
