"""Anthropic's Messages API as a provider.

Bodies are posted and answers read as plain JSON through the SDK's client: the SDK's types would drop or alter
blocks that they don't know. Importing this module does not import the SDK, which is slow.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from activities.providers.anthropic_answer import read_answer
from activities.providers.anthropic_history import API
from activities.providers.anthropic_request import build_request
from activities.providers.anthropic_stream import assemble
from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import read_body
from activities.providers.errors import MalformedAnswer, Unauthenticated
from activities.providers.protocol import ModelRequest
from activities.providers.sse import answer_of
from workflows.contracts import Turn

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

SECONDS: Final = 3600.0
"""Far beyond the activity's own limit. Left to its default, the SDK gives up after ten minutes."""

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

    async def _post(self, request: ModelRequest) -> "httpx2.Response":
        """The answer, which is not read yet if the request is live."""
        import httpx2

        if isinstance(self._client, Unauthenticated):
            raise Unauthenticated(str(self._client))
        body, betas = build_request(request)
        streaming = request.live is not None
        try:
            return await self._client.post(
                "/v1/messages",
                cast_to=httpx2.Response,
                body={**body, "stream": True} if streaming else body,
                options={
                    "headers": {"anthropic-beta": ",".join(betas)} if betas else {},
                    "timeout": SECONDS,
                    "max_retries": 0,
                },
                stream=streaming,
                stream_cls=None,
            )
        except Exception as error:
            # So the SDK says that it found no credentials, before it sends anything.
            if isinstance(error, TypeError) and "authentication method" in str(error):
                raise Unauthenticated(_NO_KEY) from None
            raise classify(error) from None

    async def close(self) -> None:
        if not isinstance(self._client, Unauthenticated):
            await self._client.close()
