"""What OpenAI sends to a webhook: whether a message is its own, and which batch has ended by what it says.

Messages are signed by the scheme of Standard Webhooks, whose library checks signature and age. Who has the secret can
say anything, so what a message says of a batch is a hint and no fact.
https://developers.openai.com/api/docs/guides/webhooks
"""

import logging
import os
from collections.abc import Mapping, Sequence

import standardwebhooks
from pydantic import BaseModel, JsonValue, ValidationError

from activities.errors import DefinitionError
from activities.notices.signatures import BadSecret, secrets_of
from workflows.faults import faults_of

log = logging.getLogger(__name__)

VARIABLE = "OPENAI_WEBHOOK_SECRET"
ENDS = ("batch.completed", "batch.failed", "batch.expired", "batch.cancelled")
GET_ONE = "OpenAI shows it once, when the webhook is created (Settings → Project → Webhooks)"


class NotOpenAIs(Exception):
    """A message that OpenAI did not send, or not just now; the text is for the log, without any secret."""


class _Event(BaseModel):
    type: str
    data: JsonValue = None


class _Named(BaseModel):
    id: str


class OpenAIEvents:
    """Reads messages that are signed with one of these secrets; without any it takes none."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._keys = [standardwebhooks.Webhook(secret) for secret in secrets]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "OpenAIEvents":
        """By `OPENAI_WEBHOOK_SECRET`: one secret, or several with spaces between. Raises `DefinitionError`."""
        try:
            return cls(secrets_of(VARIABLE, environment, remedy=GET_ONE))
        except BadSecret as error:
            raise DefinitionError(str(error)) from None

    @property
    def usable(self) -> bool:
        return bool(self._keys)

    def ended_batch(self, headers: Mapping[str, str], body: bytes) -> str | None:
        """The id of the batch that a message is about, if it says that one has ended. Raises `NotOpenAIs`."""
        self._verify(headers, body)
        try:
            event = _Event.model_validate_json(body)
            return _Named.model_validate(event.data).id if event.type in ENDS else None
        except ValidationError as error:
            log.warning("a message of OpenAI can't be read, and nothing is done about it: %s", faults_of(error))
            return None

    def _verify(self, headers: Mapping[str, str], body: bytes) -> None:
        why = "no secret is set to check it with"
        for key in self._keys:
            try:
                key.verify(body, dict(headers), json_parse=False)
            except standardwebhooks.WebhookVerificationError as error:
                why = str(error)
            except ValueError:
                why = "its signature has no form that is known, or its body is no text"
            else:
                return
        raise NotOpenAIs(why)
