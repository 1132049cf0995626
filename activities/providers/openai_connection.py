"""The OpenAI SDK's client as both OpenAI adapters use it: one POST of JSON, a JSON object or a `ModelError` back.

Bodies go through the SDK's untyped `post`: its typed methods would drop or rewrite fields that other vendors need
back unchanged. The SDK is imported only when a client is built, since that takes about a second.
"""

from typing import TYPE_CHECKING

from pydantic import JsonValue

from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import read_body, redact
from activities.providers.errors import MalformedAnswer, Unauthenticated
from activities.providers.json_text import MAX_DEPTH, clean_json
from workflows.contracts import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ANSWER_SECONDS = 3600.0  # the activity's own timeout is the one that counts
CONNECT_SECONDS = 15.0


class OpenAIConnection:
    """Posts with an SDK client."""

    def __init__(self, client: "AsyncOpenAI | Unauthenticated") -> None:
        """`client`, or why there is none: every call raises that."""
        self._client = client

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        """The answer to one POST, with lone surrogates replaced in every text; raises `ModelError`."""
        client = self._ready()
        try:
            import httpx2

            response = await client.post(path, cast_to=httpx2.Response, body=clean_json(body, 2 * MAX_DEPTH))
            answer = read_body(response.text)
        except Exception as failure:
            raise classify(failure) from None
        return _checked(answer, response.status_code, dict(response.headers))

    @property
    def has_key(self) -> bool:
        return not isinstance(self._client, Unauthenticated)

    @property
    def host(self) -> str:
        """The host that requests go to."""
        return self._ready().base_url.host

    async def close(self) -> None:
        if not isinstance(self._client, Unauthenticated):
            await self._client.close()

    def _ready(self) -> "AsyncOpenAI":
        if isinstance(self._client, Unauthenticated):
            raise Unauthenticated(str(self._client))
        return self._client


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


def _checked(answer: JsonValue, status: int, headers: dict[str, str]) -> JsonObject:
    """An object that is no error; errors also come with status 200."""
    if not isinstance(answer, dict):
        raise MalformedAnswer(f"the answer is no JSON object but: {redact(str(answer)[:200])!r}", status=status)
    if answer.get("error"):
        raise classify_answer(None, headers, {"error": answer["error"]})
    return answer
