"""Google's generateContent API as a provider: Gemini, by the Gemini API or by Vertex AI.

Bodies and answers pass the SDK as plain JSON (`extra_body`, `should_return_http_response`): its types would drop
fields that they don't know. The package google-genai is an extra, and imported only when a client is built.
"""

from typing import TYPE_CHECKING, Any

from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import read_body, redact
from activities.providers.errors import MalformedAnswer, ModelError, NotFound, Unauthenticated
from activities.providers.google_answer import read_answer
from activities.providers.google_history import API
from activities.providers.google_request import build_body
from activities.providers.protocol import ModelRequest
from activities.providers.recordable import recordable
from workflows.contracts import JsonObject, Turn

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

NO_PACKAGE = "google: models need the package google-genai, which is not installed: pip install 'surefoot[google]'"
NO_KEY = (
    "no key for Google: set GEMINI_API_KEY (or GOOGLE_API_KEY; for Vertex AI GOOGLE_GENAI_USE_VERTEXAI=true and "
    "GOOGLE_CLOUD_PROJECT) where the worker runs, and start the worker again"
)


class GoogleGenerateContent:
    """The provider over one SDK client and the HTTP client that it sends with."""

    api = API

    def __init__(self, client: "Client | ModelError", http: "httpx2.AsyncClient | None" = None) -> None:
        """`client`, or why there is none: every call raises that.

        `http` is what the SDK sends with, and does not close; nothing streams unless it is a `GoogleClient`.
        """
        self._client = client
        self._http = http

    @classmethod
    def from_environment(cls) -> "GoogleGenerateContent":
        """By the SDK's own variables (GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL, …); without a key, calls fail."""
        try:
            from google.auth.exceptions import GoogleAuthError
        except ImportError:
            return cls(NotFound(NO_PACKAGE))
        import httpx2

        from activities.providers.google_client import GoogleClient

        # No limit but the activity's own, and connections for all the calls of a worker.
        limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
        http = GoogleClient(timeout=None, limits=limits, follow_redirects=True)
        try:
            return cls(sdk_client(http), http)
        except ImportError:
            return cls(NotFound(NO_PACKAGE))
        except (ValueError, GoogleAuthError) as error:
            return cls(Unauthenticated(f"{NO_KEY} ({redact(str(error))})"), http)

    @property
    def has_key(self) -> bool:
        return not isinstance(self._client, ModelError)

    async def complete(self, request: ModelRequest) -> Turn:
        """One model call; raises `ModelError`."""
        if isinstance(self._client, ModelError):
            raise type(self._client)(str(self._client))
        from activities.providers.google_client import sending

        try:
            # What `extra_body` holds takes the place of the SDK's own contents.
            config: Any = {
                "http_options": {"extra_body": build_body(request)},
                "should_return_http_response": True,
                "automatic_function_calling": {"disable": True},
            }
            with sending(request):
                reply = await self._client.aio.models.generate_content(model=request.model, contents=".", config=config)
        except Exception as error:
            raise classify(error) from None
        http = reply.sdk_http_response
        answer = _checked(http.body if http else None, (http.headers if http else None) or {}, request.model)
        return recordable(read_answer(answer, request))

    async def close(self) -> None:
        """Release the SDK client's connections."""
        if not isinstance(self._client, ModelError):
            self._client.close()
        if self._http is not None:
            await self._http.aclose()


def sdk_client(http: "httpx2.AsyncClient", api_key: str | None = None) -> "Client":
    """The SDK's client, without retries: it asks once, over this HTTP client, even where aiohttp is installed."""
    from google.genai import Client
    from google.genai.types import HttpOptions, HttpRetryOptions

    return Client(
        api_key=api_key,
        http_options=HttpOptions(httpx_async_client=http, retry_options=HttpRetryOptions(attempts=1)),
    )


def _checked(body: str | None, headers: dict[str, str], model: str) -> JsonObject:
    """An object that is no error; errors also come with status 200."""
    answer = read_body(body or "")
    if not isinstance(answer, dict):
        raise MalformedAnswer(f"{model} answered with no JSON object but: {redact(str(answer)[:200])!r}")
    if answer.get("error"):
        raise classify_answer(None, headers, {"error": answer["error"]})
    return answer
