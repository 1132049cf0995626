"""The sorter's model where there is no key: it knows a topic by a word of the mail, and asks for refunds of damage."""

import json
import re
from collections.abc import Sequence
from typing import Any

from activities.providers.protocol import ModelRequest
from surefoot import Script
from workflows.contracts import Message, Result

WORDS = {
    "damage": ("broken", "cracked", "damaged", "torn"),
    "invoice": ("invoice",),
    "delivery": ("not come", "not here", "not arrived", "deliver"),
    "praise": ("thank you",),
}
SAYS = {
    "delivery": "We look for your parcel and write again today.",
    "invoice": "Here is your invoice again.",
    "praise": "Thank you for your kind words!",
    "question": "We have passed your question on.",
}
ORDER = re.compile(r"A-\d{4}")
PAID = re.compile(r"(\d+\.\d\d) EUR")


def reply(request: ModelRequest) -> dict[str, Any]:
    """A refund to be asked for, or the answer."""
    mail = next(entry.text for entry in request.transcript if isinstance(entry, Message))
    results = [entry.content for entry in request.transcript if isinstance(entry, Result)]
    usage = {"input_tokens": 120 + len(mail) // 4, "output_tokens": 30, "cost_usd": 0.0004}
    return {**read(mail, results), "usage": usage}


def read(mail: str, results: Sequence[str]) -> dict[str, Any]:
    """What the model says to a mail, once it was told these results of its calls."""
    topic = next((topic for topic, words in WORDS.items() if any(word in mail.lower() for word in words)), "question")
    order, paid = ORDER.search(mail), PAID.search(mail)
    if topic == "damage" and not results and order and paid:
        wanted = {"order_id": order[0], "amount": float(paid[1]), "reason": "It arrived damaged."}
        return {"text": "It arrived damaged.", "calls": [{"tool": "refund", "arguments": wanted}]}
    said = SAYS.get(topic) or f"We are sorry. {results[-1] if results else 'Which order is it, and what did you pay?'}"
    return {"text": json.dumps({"topic": topic, "reply": said})}


READER = Script(reply)
