"""The OpenAI SDK's client as both OpenAI adapters use it: JSON or a stream of it, a JSON object or a `ModelError` back.

Bodies go through the SDK's untyped methods: its typed ones would drop or rewrite fields that other vendors need
back unchanged. The SDK is imported only when a client is built, since that takes about a second.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from pydantic import JsonValue

from activities.providers.batches import print_of
from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import read_body, redact
from activities.providers.errors import MalformedAnswer, ModelError, NotFound, Unauthenticated
from activities.providers.json_text import MAX_DEPTH, clean_json
from activities.providers.sse import Event, answer_of
from workflows.contracts import JsonObject

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

ANSWER_SECONDS = 3600.0  # the activity's own timeout is the one that counts
CONNECT_SECONDS = 15.0
VERSION = re.compile(r"/v\d")

Assemble = Callable[[AsyncIterator[Event]], Awaitable[JsonObject]]
"""Puts the events of a streamed answer together into the body of a whole one."""


class OpenAIConnection:
    """Posts with an SDK client."""

    def __init__(self, client: "AsyncOpenAI | Unauthenticated") -> None:
        """`client`, or why there is none: every call raises that."""
        self._client = client

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        """The answer to one POST; raises `ModelError`."""
        response = await self._sent(path, body, stream=False)
        return _checked(_said(response), response)

    async def stream(self, path: str, body: JsonObject, assemble: Assemble, idle_seconds: float) -> JsonObject:
        """The answer to one POST that asks for a stream; a server that sends a whole answer instead is as welcome."""
        response = await self._sent(path, body, stream=True)
        return _checked(await answer_of(response, assemble, idle_seconds), response)

    async def get(self, path: str, query: JsonObject) -> JsonObject:
        """The object at a path; raises `ModelError`. An error that is told in the object is left to the caller."""
        client = self._ready()
        try:
            import httpx2

            response = await client.get(path, cast_to=httpx2.Response, options={"params": query})
        except Exception as failure:
            raise classify(failure) from None
        return _object(_said(response), response)

    async def upload(self, name: str, content: bytes) -> JsonObject:
        """The answer to a POST of one file of batch requests; raises `ModelError`."""
        client = self._ready()
        try:
            import httpx2

            response = await client.post(
                "/files",
                cast_to=httpx2.Response,
                body={"purpose": "batch"},
                files=[("file", (name, content, "application/jsonl"))],
                options={"headers": {"Content-Type": "multipart/form-data"}},
            )
        except Exception as failure:
            raise classify(failure) from None
        return _checked(_said(response), response)

    async def download(self, path: str) -> "httpx2.Response":
        """The file at a path, which is not read yet; raises `ModelError`."""
        client = self._ready()
        try:
            import httpx2

            return await client.get(path, cast_to=httpx2.Response, stream=True, stream_cls=None)
        except Exception as failure:
            raise classify(failure) from None

    @property
    def has_key(self) -> bool:
        return not isinstance(self._client, Unauthenticated)

    @property
    def credential(self) -> str:
        """A print of key and address."""
        client = self._ready()
        return print_of(f"{client.api_key} {client.organization} {client.project} {client.base_url}")

    @property
    def host(self) -> str:
        """The host that requests go to."""
        return self._ready().base_url.host

    async def close(self) -> None:
        if not isinstance(self._client, Unauthenticated):
            await self._client.close()

    async def _sent(self, path: str, body: JsonObject, *, stream: bool) -> "httpx2.Response":
        client = self._ready()
        try:
            import httpx2

            return await client.post(path, cast_to=httpx2.Response, body=cleaned(body), stream=stream, stream_cls=None)
        except Exception as failure:
            raise _with_address(classify(failure), client.base_url) from None

    def _ready(self) -> "AsyncOpenAI":
        if isinstance(self._client, Unauthenticated):
            raise Unauthenticated(str(self._client))
        return self._client


def cleaned(body: JsonObject) -> JsonObject:
    """The body as it can be sent. Raises ValueError if it is nested too deeply."""
    clean = clean_json(body, 2 * MAX_DEPTH)
    assert isinstance(clean, dict)
    return clean


def client_from_environment() -> "AsyncOpenAI | Unauthenticated":
    """A client by the SDK's own variables, or what to set."""
    import httpx2
    from openai import AsyncOpenAI, OpenAIError

    try:
        return AsyncOpenAI(max_retries=0, timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS))
    except OpenAIError:
        return Unauthenticated(
            "OPENAI_API_KEY is not set in the worker's environment; set it, or any word in its place for a server "
            "that needs no key (OPENAI_BASE_URL says which server)"
        )


def _with_address(error: ModelError, base: "httpx2.URL") -> ModelError:
    """The error; of a 404, also which address was asked, where that lacks what most servers have at its end."""
    if error.status != 404 or not isinstance(error, NotFound) or VERSION.search(base.path):
        return error
    port = f":{base.port}" if base.port else ""
    address = f"{base.scheme}://{base.host}{port}{base.path.rstrip('/')}"  # without a password that may stand in it
    told = (
        f"{error} (asked at {address}: most servers of this API have it under /v1, which then belongs at the end of"
        " OPENAI_BASE_URL)"
    )
    return NotFound(told, status=404, delay=error.delay, code=error.code, retryable=error.retryable)


def _said(response: "httpx2.Response") -> JsonValue:
    try:
        return read_body(response.text)
    except Exception as failure:
        raise classify(failure) from None


def _checked(answer: JsonValue, response: "httpx2.Response") -> JsonObject:
    """An object that is no error; errors also come with status 200."""
    found = _object(answer, response)
    if found.get("error"):
        raise classify_answer(None, dict(response.headers), {"error": found["error"]})
    return found


def _object(answer: JsonValue, response: "httpx2.Response") -> JsonObject:
    if not isinstance(answer, dict):
        told = redact(str(answer)[:200])
        raise MalformedAnswer(f"the answer is no JSON object but: {told!r}", status=response.status_code)
    return answer
