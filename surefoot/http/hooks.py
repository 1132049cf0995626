"""What providers tell by webhook: believed by its signature alone, and no further than that it is time to ask them.

Beside the API, under rules of its own: no token, no session and no CSRF token, since no browser and no person calls it.
Whatever is signed gets a 2xx unless it has to be sent once more, because OpenAI repeats for days what gets none.
"""

import asyncio
import logging
import os
from collections.abc import Mapping

from fastapi import APIRouter, Request
from pydantic import BaseModel

from activities.providers.openai_events import VARIABLE, NotOpenAIs, OpenAIEvents
from surefoot.batches.looking import look_now
from surefoot.client import Client
from surefoot.http.origins import OPENAI_HOOK
from surefoot.http.problems import PROBLEMS, Refusal
from surefoot.http.rates import Failures

log = logging.getLogger(__name__)

BODY_BYTES = 64_000
"""Their messages have some hundred bytes."""

ANSWER_SECONDS = 4.0
"""OpenAI waits a few seconds for an answer, and sends the message again if there is none."""

MESSAGE = {
    "parameters": [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    ],
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
}
"""For the OpenAPI document, since the route reads the message itself: the signature is over its bytes."""

router = APIRouter(tags=["webhooks"], responses=PROBLEMS)


class Heard(BaseModel):
    """What came of a message: how many that wait for its batch ask the provider now. 0 for all that is not ours."""

    told: int


class Hooks:
    """The webhooks of one process. One look-up at a time, so that not even who has the secret keeps the server busy."""

    def __init__(self, openai: OpenAIEvents) -> None:
        self.openai = openai
        self._turn = asyncio.Lock()
        self._refused = Failures(tries=5, per_minute=1.0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Hooks":
        """Raises `DefinitionError` for secrets that can't be used."""
        return cls(OpenAIEvents.from_environment(environment))

    async def look(self, client: Client, batch: str) -> int:
        """By how many the batch is looked at now. Raises `Refusal` if that can't be done in time."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._turn:
                return await look_now(client.temporal, batch)
        except TimeoutError:
            text = f"the batch could not be looked for within {ANSWER_SECONDS:g} seconds: send it again in a moment"
            raise Refusal(503, "too-busy", text) from None

    def note(self, why: str) -> None:
        """Say in the log that a message was refused, but not as often as anybody can send one, from anywhere."""
        if not self._refused.wait(OPENAI_HOOK):
            self._refused.count(OPENAI_HOOK)
            log.warning(
                "a message to %s was refused (%s); its sender gets 403 until %s fits", OPENAI_HOOK, why, VARIABLE
            )


@router.post(OPENAI_HOOK, openapi_extra=MESSAGE)
async def openai_event(request: Request) -> Heard:
    """For OpenAI: a batch has ended, as a signed message says; who waits for it asks OpenAI at once how it stands."""
    hooks: Hooks = request.app.state.hooks
    if not hooks.openai.usable:
        raise Refusal(404, "no-webhook", f"no webhook of OpenAI is set up here: {VARIABLE} is not set for this console")
    body = await request.body()
    if len(body) > BODY_BYTES:
        raise Refusal(413, "too-large", f"the message has {len(body)} bytes, and OpenAI's have at most {BODY_BYTES}")
    try:
        batch = hooks.openai.ended_batch(request.headers, body)
    except NotOpenAIs as error:
        hooks.note(str(error))
        raise Refusal(403, "not-signed", "its signature is missing, wrong, or too old or new by five minutes") from None
    return Heard(told=await hooks.look(request.app.state.client, batch) if batch is not None else 0)
