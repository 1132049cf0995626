"""A webhook as OpenAI sends it: signed by the scheme of Standard Webhooks, and sent again while no 2xx comes back."""

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx2
import standardwebhooks

from stand_ins.books import Body

PAUSES = (0.2, 0.5, 1.0)
"""Seconds until it is sent again. OpenAI goes on with that for days."""


@dataclass
class Webhook:
    """Where events are sent, and the secret that they are signed with. `answers` are the statuses that came back."""

    url: str
    secret: str
    after: float = 0.0
    """Seconds from the creation of a batch to its end."""
    answers: list[int] = field(default_factory=list)

    async def send(self, kind: str, batch: str) -> None:
        """Say that a batch has ended: `kind` is "completed", "failed", "expired" or "cancelled"."""
        id = f"evt_{uuid.uuid4().hex}"
        event: Body = {"object": "event", "id": id, "type": f"batch.{kind}", "data": {"id": batch}}
        body = json.dumps({**event, "created_at": int(time.time())})
        async with httpx2.AsyncClient(trust_env=False) as http:
            for pause in (*PAUSES, None):
                try:
                    headers = self.headers(id, body)
                    self.answers.append((await http.post(self.url, content=body, headers=headers)).status_code)
                except httpx2.TransportError:
                    self.answers.append(0)
                if 200 <= self.answers[-1] < 300 or pause is None:
                    return
                await asyncio.sleep(pause)

    def headers(self, id: str, body: str, at: datetime | None = None) -> dict[str, str]:
        """What a message of this body is sent with, now or `at` another time."""
        sent = at or datetime.now(UTC)
        return {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": str(int(sent.timestamp())),
            "webhook-signature": standardwebhooks.Webhook(self.secret).sign(id, sent, body),
        }
