"""The Responses API of OpenAI and of servers that speak it.

A request is sent in the cheapest form that its transcript allows; when the API answers that it does not hold what the
request points to, the next form is sent at once. Such a refusal is free and no retry: the next request is another one.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from activities.providers.batches import BatchRequest
from activities.providers.errors import ModelError, NotFound, Rejected, Unauthenticated
from activities.providers.openai_background import Background
from activities.providers.openai_batches import OpenAIBatches
from activities.providers.openai_connection import OpenAIConnection, cleaned, client_from_environment
from activities.providers.openai_responses_answer import responses_turn
from activities.providers.openai_responses_request import (
    Form,
    chain_start,
    in_background,
    responses_request,
    streamed_to,
)
from activities.providers.openai_responses_stream import responses_answer
from activities.providers.pairing import paired
from activities.providers.protocol import ModelRequest
from activities.providers.recordable import recordable
from workflows.contracts import JsonObject, Turn

if TYPE_CHECKING:
    from openai import AsyncOpenAI

API = "openai_responses"
PATH = "/responses"

CHAIN_FAULTS = ("previous response", "previous_response", "no tool output found", "no tool call found")
ITEM_FAULTS = (
    "required following item",
    "required 'reasoning' item",
    "items are not persisted",
    "item with id",
    "duplicate item",
    "encrypted content",
    "encrypted_content",
)
NOT_ENCRYPTING = "encrypted content is not supported"  # a model that does not reason, such as gpt-4o


class OpenAIResponses:
    """Asks through an SDK client whose own retries are off.

    A second server behind the same worker needs an `api` of its own, so that no server gets the other one's items.
    """

    def __init__(self, client: "AsyncOpenAI | Unauthenticated", api: str = API) -> None:
        """`client`, or why there is none: every call raises that."""
        self.api = api
        self._connection = OpenAIConnection(client)
        self.batches = OpenAIBatches(self._connection)
        self._not_encrypting: set[str] = set()

    @classmethod
    def from_environment(cls) -> "OpenAIResponses":
        """Built by the SDK's own variables; a missing key fails calls, not the worker."""
        return cls(client_from_environment())

    @property
    def has_key(self) -> bool:
        return self._connection.has_key

    async def complete(self, request: ModelRequest) -> Turn:
        """One model call; raises `ModelError`."""
        request = replace(request, transcript=paired(request.transcript))
        if in_background(request):
            background = Background(self._connection, request.kept, request.settings.get("include"))
            answer = await background.answer(lambda: self._ask(request))
        else:
            answer = await self._ask(request)
        return self.turn_of(answer, request)

    def turn_of(self, answer: JsonObject, request: ModelRequest) -> Turn:
        """The turn of an answer; raises `MalformedAnswer`."""
        return recordable(responses_turn(answer, request, self.api))

    def batch_request(self, request: ModelRequest) -> BatchRequest:
        """The request in its first form, for a provider batch; raises `Rejected`."""
        if in_background(request):
            raise Rejected("the model settings hold background=True, which a batch has no use for")
        request = replace(request, transcript=paired(request.transcript), live=None)
        body = responses_request(request, self.api, self._first_form(request))
        return BatchRequest(f"/v1{PATH}", cleaned(body))

    @property
    def credential(self) -> str:
        return self._connection.credential

    @property
    def host(self) -> str:
        return self._connection.host

    async def close(self) -> None:
        """Release the SDK client's connections."""
        await self._connection.close()

    async def _ask(self, request: ModelRequest) -> JsonObject:
        form: Form | None = self._first_form(request)
        while form is not None:
            try:
                body = responses_request(request, self.api, form)
                if (live := streamed_to(request)) is not None:
                    assemble = partial(responses_answer, model=request.model, live=live)
                    return await self._connection.stream(PATH, body, assemble, request.idle_seconds)
                return await self._connection.post(PATH, body)
            except (NotFound, Rejected) as refusal:
                form = _next_form(form, refusal)
                if form is None:
                    raise
                if NOT_ENCRYPTING in str(refusal).lower():
                    self._not_encrypting.add(request.model)
        raise AssertionError("unreachable: the last form returns or raises")

    def _first_form(self, request: ModelRequest) -> Form:
        if chain_start(request, self.api) is not None:
            return "chained"
        unencrypted = request.settings.get("store") is False and request.model in self._not_encrypting
        return "plain" if unencrypted else "whole"


def _next_form(form: Form, refusal: ModelError) -> Form | None:
    """The form to send instead, if the API refused the way in which history was sent and not the request itself."""
    said = f"{refusal.code or ''} {refusal}".lower()
    if form == "chained" and (isinstance(refusal, NotFound) or any(fault in said for fault in CHAIN_FAULTS)):
        return "whole"
    return "plain" if form != "plain" and any(fault in said for fault in ITEM_FAULTS) else None
