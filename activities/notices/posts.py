"""Sends one message to one endpoint and reads its answer: bounded in time and size, and never led elsewhere.

What an endpoint answers is foreign text: little of it is read, and less is told on.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from activities.notices.formats import body
from activities.notices.messages import Message
from activities.notices.signatures import BadSecret, headers, secrets_of
from activities.notices.webhooks import Webhook
from activities.providers.retry_delay import retry_delay
from activities.tools.explain import cut

if TYPE_CHECKING:
    import httpx2

STEP_SECONDS = 10.0
WHOLE_SECONDS = 15.0
"""For an endpoint that answers a byte at a time; less than an attempt may take (`policies.NOTICE`)."""

ANSWER_BYTES = 2_000
SHOWN_CHARS = 200
GONE = 410


class NotDelivered(Exception):
    """An attempt that failed; `delay` is how many seconds the endpoint asks to be left alone, if it does."""

    def __init__(self, text: str, delay: float | None = None) -> None:
        super().__init__(text)
        self.delay = delay


@dataclass(frozen=True)
class Answer:
    """What an endpoint answered that took the message, or wants no more of them."""

    status: int
    text: str

    @property
    def gone(self) -> bool:
        return self.status == GONE


def open_http() -> "httpx2.AsyncClient":
    """One for a process; building it reads certificates, which takes a moment."""
    import httpx2

    # It logs each URL, and a webhook's may be as good as a password.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return httpx2.AsyncClient(timeout=httpx2.Timeout(STEP_SECONDS), follow_redirects=False)


async def post(
    http: "httpx2.AsyncClient", webhook: Webhook, message: Message, environment: Mapping[str, str]
) -> Answer:
    """Deliver a message. Raises `NotDelivered`, whose text names neither the URL nor the decision link."""
    import httpx2

    text = body(message, webhook.format)
    sent = {
        "content-type": "application/json",
        "user-agent": "surefoot",
        "accept-encoding": "identity",
        **_signed(webhook, message, text, environment),
    }
    try:
        async with (
            asyncio.timeout(WHOLE_SECONDS),
            http.stream("POST", webhook.url, content=text.encode(), headers=sent) as response,
        ):
            status, given, said = response.status_code, dict(response.headers), await _beginning(response)
    except TimeoutError:
        raise NotDelivered(f"no whole answer within {WHOLE_SECONDS:g} seconds") from None
    except httpx2.HTTPError as error:
        raise NotDelivered(f"{type(error).__name__}: {cut(str(error), SHOWN_CHARS)}") from None
    if 200 <= status < 300 or status == GONE:
        return Answer(status, said)
    moved = "; redirects are not followed, write the URL where it leads to" if 300 <= status < 400 else ""
    raise NotDelivered(
        f"the endpoint answered {status}{moved}{f': {said}' if said else ''}",
        retry_delay(given, None, datetime.now(UTC)),
    )


def _signed(webhook: Webhook, message: Message, text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Chat services check no signature, so only they may go without one."""
    try:
        secrets = secrets_of(webhook.secret, environment)
    except BadSecret as error:
        raise NotDelivered(str(error)) from None
    if not secrets and webhook.format == "standard":
        raise NotDelivered(f"{webhook.secret} is not set where the worker runs, so nothing can be signed; set it there")
    return headers(message.id, datetime.now(UTC), text, secrets)


async def _beginning(response: "httpx2.Response") -> str:
    """The first bytes of an answer, as a short text. Not unpacked: a few bytes may unpack to any number."""
    read = b""
    async for chunk in response.aiter_raw():
        read += chunk
        if len(read) >= ANSWER_BYTES:
            break
    return cut(" ".join(read[:ANSWER_BYTES].decode(errors="replace").split()), SHOWN_CHARS)
