"""The HTTP client that Google's SDK sends with: it can stream the answer that the SDK asked for whole.

The SDK's own streaming reads chunks into types that drop the fields they don't know. Here its request goes to the
streaming method instead, and the SDK is handed the whole answer that the events make up. Which request is meant
travels in a context variable, since the SDK has no way to pass anything on to its HTTP client.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import httpx2

from activities.providers.google_stream import assemble
from activities.providers.protocol import ModelRequest
from activities.providers.sse import answer_of

_WHOLE, _STREAMED = ":generateContent", ":streamGenerateContent"

_OF_THE_BODY = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})
"""Headers that hold for the bytes that came, and not for the answer that is handed on."""

_request: ContextVar[ModelRequest | None] = ContextVar("_request", default=None)


@contextmanager
def sending(request: ModelRequest) -> Iterator[None]:
    """What is sent inside is for this request, and streamed if it is live."""
    before = _request.set(request)
    try:
        yield
    finally:
        _request.reset(before)


class GoogleClient(httpx2.AsyncClient):
    """An HTTP client whose answers are always whole."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        asked = _request.get()
        if asked is None or asked.live is None or not request.url.path.endswith(_WHOLE):
            return await super().send(request, stream=stream, **options)
        path = request.url.path.removesuffix(_WHOLE) + _STREAMED
        request.url = request.url.copy_with(path=path).copy_merge_params({"alt": "sse"})
        response = await super().send(request, stream=True, **options)
        if not response.is_success:
            try:
                await response.aread()
            finally:
                await response.aclose()
            return response
        answer = await answer_of(response, partial(assemble, model=asked.model, live=asked.live), asked.idle_seconds)
        headers = {name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BODY}
        headers["content-type"] = "application/json"
        return httpx2.Response(response.status_code, headers=headers, content=json.dumps(answer), request=request)
