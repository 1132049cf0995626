"""The app file of `bench.gate`: an agent whose jobs each wait for a decision, and one whose jobs end at once."""

import os
import time
from typing import Any

from activities.agents import Agent
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.tools.tool import tool
from workflows.contracts import Message

BEGUN = "BENCH_GATE_BEGUN"
"""The variable that names the file in which the tool writes when it began."""


@tool
def pay(job: str) -> str:
    """Pay for what one job ordered."""
    began = time.time()
    with open(os.environ[BEGUN], "a") as file:
        file.write(f"{job} {began}\n")
    return "paid"


def _reply(request: ModelRequest) -> dict[str, Any]:
    order = request.transcript[0]
    assert isinstance(order, Message)
    if request.turn > 1:
        return {"text": "It is paid."}
    return {"text": "The order is due.", "calls": [{"tool": "pay", "arguments": {"job": order.text}}]}


payer = Agent("payer", Script(_reply), tools=[pay])
talker = Agent("talker", Script([{"text": "hello"}]))
