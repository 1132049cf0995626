"""Anthropic's Messages API as a provider.

Bodies are posted and answers read as plain JSON through the SDK's client: the SDK's types would drop or alter
blocks that they don't know. Importing this module does not import the SDK, which is slow.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from activities.providers.anthropic_answer import read_answer
from activities.providers.anthropic_batches import AnthropicBatches
from activities.providers.anthropic_history import API
from activities.providers.anthropic_request import build_request
from activities.providers.anthropic_stream import assemble
from activities.providers.batches import BatchRequest, print_of
from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import read_body
from activities.providers.errors import MalformedAnswer, Unauthenticated
from activities.providers.protocol import ModelRequest
from activities.providers.sse import answer_of
from workflows.contracts import JsonObject, Turn

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

SECONDS: Final = 3600.0
"""Far beyond the activity's own limit. Left to its default, the SDK gives up after ten minutes."""

MESSAGES: Final = "/v1/messages"

_NO_KEY = (
    "no key for Anthropic: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) where the worker runs, "
    "and start the worker again"
)


class AnthropicMessages:
    """The provider over one SDK client.

    Of a request's settings, `betas` (a list) becomes the beta header, `tools` (server tools) join the declared
    ones, and a `cache_control`, even None, replaces all cache marks; the others enter the body as they are.
    """

    api = API

    def __init__(self, client: "AsyncAnthropic | Unauthenticated") -> None:
        """`client`, or why there is none: every call raises that."""
        self._client = client
        self.batches = AnthropicBatches(self._send)

    @classmethod
    def from_environment(cls) -> "AnthropicMessages":
        """A provider with the SDK's own settings: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and its other variables."""
        from anthropic import AsyncAnthropic, CredentialsError

        try:
            return cls(AsyncAnthropic(max_retries=0, timeout=SECONDS))
        except CredentialsError as error:
            return cls(Unauthenticated(f"{_NO_KEY} ({error})"))

    @property
    def has_key(self) -> bool:
        client = self._client
        if isinstance(client, Unauthenticated):
            return False
        headers = {name.lower() for name in client.default_headers}  # ANTHROPIC_CUSTOM_HEADERS may bring one
        return bool(
            client.api_key or client.auth_token or client.credentials or headers & {"authorization", "x-api-key"}
        )

    async def complete(self, request: ModelRequest) -> Turn:
        response = await self._post(request)
        if request.live is None:
            answer = read_body(response.text)
        else:
            answer = await answer_of(
                response, partial(assemble, model=request.model, live=request.live), request.idle_seconds
            )
        if isinstance(answer, str):
            raise MalformedAnswer(f"{request.model} answered with no JSON: {answer[:200]!r}")
        if isinstance(answer, dict) and answer.get("type") == "error":
            raise classify_answer(None, response.headers, answer)
        return read_answer(answer, request.turn, request.model)

    def turn_of(self, answer: JsonObject, request: ModelRequest) -> Turn:
        """The turn of an answer; raises `MalformedAnswer`."""
        return read_answer(answer, request.turn, request.model)

    def batch_request(self, request: ModelRequest) -> BatchRequest:
        """The request for a provider batch; raises `Rejected`."""
        body, betas = build_request(request)
        return BatchRequest(MESSAGES, cast(JsonObject, body), tuple(betas))

    @property
    def credential(self) -> str:
        client = self._ready()
        return print_of(f"{client.api_key} {client.auth_token} {client.base_url}")

    @property
    def host(self) -> str:
        """The host that requests go to."""
        return self._ready().base_url.host

    async def _post(self, request: ModelRequest) -> "httpx2.Response":
        """The answer, which is not read yet if the request is live."""
        self._ready()
        body, betas = build_request(request)
        streaming = request.live is not None
        sent = {**body, "stream": True} if streaming else body
        return await self._send("post", MESSAGES, body=sent, betas=betas, stream=streaming)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        betas: Sequence[str] = (),
        params: dict[str, str] | None = None,
        stream: bool = False,
        **content: Any,
    ) -> "httpx2.Response":
        """The answer to one request, which is not read yet if it is a stream."""
        client = self._ready()
        headers = {"anthropic-beta": ",".join(betas)} if betas else {}
        if "content" in content:
            headers["content-type"] = "application/json"
        options: dict[str, Any] = {"headers": headers, "timeout": SECONDS, "max_retries": 0}
        if params:
            options["params"] = params
        try:
            import httpx2

            ask: Any = client.get if method == "get" else client.post
            response: httpx2.Response = await ask(
                path, cast_to=httpx2.Response, options=options, stream=stream, stream_cls=None, **content
            )
            return response
        except Exception as error:
            # So the SDK says that it found no credentials, before it sends anything.
            if isinstance(error, TypeError) and "authentication method" in str(error):
                raise Unauthenticated(_NO_KEY) from None
            raise classify(error) from None

    def _ready(self) -> "AsyncAnthropic":
        if isinstance(self._client, Unauthenticated):
            raise Unauthenticated(str(self._client))
        return self._client

    async def close(self) -> None:
        if not isinstance(self._client, Unauthenticated):
            await self._client.close()
