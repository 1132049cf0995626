"""The Chat Completions API, of OpenAI and of every compatible server (`OPENAI_BASE_URL` says which).

What one vendor does differently stands in `openai_vendors.py`; here is no branch on a vendor's name.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from activities.providers.batches import BatchRequest
from activities.providers.errors import Rejected, ToolUseFailed, Unauthenticated
from activities.providers.failed_generation import turn_of_failed_generation
from activities.providers.openai_batches import OpenAIBatches
from activities.providers.openai_chat_answer import chat_turn
from activities.providers.openai_chat_request import chat_request
from activities.providers.openai_chat_stream import chat_answer
from activities.providers.openai_connection import OpenAIConnection, cleaned, client_from_environment
from activities.providers.openai_vendors import vendor
from activities.providers.pairing import paired
from activities.providers.protocol import ModelRequest
from activities.providers.recordable import recordable
from workflows.contracts import JsonObject, Turn

if TYPE_CHECKING:
    from openai import AsyncOpenAI

API = "openai_chat"
PATH = "/chat/completions"


class OpenAIChat:
    """Asks through an SDK client whose own retries are off.

    A second server behind the same worker needs an `api` of its own, so that no server gets the other one's items.
    """

    def __init__(self, client: "AsyncOpenAI | Unauthenticated", api: str = API) -> None:
        """`client`, or why there is none: every call raises that."""
        self.api = api
        self._connection = OpenAIConnection(client)
        self.batches = OpenAIBatches(self._connection)

    @classmethod
    def from_environment(cls) -> "OpenAIChat":
        """Built by the SDK's own variables; a missing key fails calls, not the worker."""
        return cls(client_from_environment())

    @property
    def has_key(self) -> bool:
        return self._connection.has_key

    async def complete(self, request: ModelRequest) -> Turn:
        """One model call; raises `ModelError`."""
        body = self._body(request)
        try:
            if (live := request.streamed_to) is not None:
                assemble = partial(chat_answer, model=request.model, live=live)
                answer = await self._connection.stream(PATH, body, assemble, request.idle_seconds)
            else:
                answer = await self._connection.post(PATH, body)
        except ToolUseFailed as failure:
            return recordable(turn_of_failed_generation(failure, request))
        return self.turn_of(answer, request)

    def turn_of(self, answer: JsonObject, request: ModelRequest) -> Turn:
        """The turn of an answer; raises `MalformedAnswer`."""
        return recordable(chat_turn(answer, request, self.api))

    def batch_request(self, request: ModelRequest) -> BatchRequest:
        """The request for a provider batch; raises `Rejected`."""
        return BatchRequest(f"/v1{PATH}", cleaned(self._body(replace(request, live=None))))

    def _body(self, request: ModelRequest) -> JsonObject:
        if request.settings.get("stream"):
            raise Rejected(
                "the model settings hold stream=true, but the agent's own `stream` decides; remove the setting"
            )
        request = replace(request, transcript=paired(request.transcript))
        return chat_request(request, self.api, vendor(self._connection.host))

    @property
    def credential(self) -> str:
        return self._connection.credential

    @property
    def host(self) -> str:
        return self._connection.host

    async def close(self) -> None:
        """Release the SDK client's connections."""
        await self._connection.close()
