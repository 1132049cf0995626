"""The app of the crash tests: its tools write down what they did, and stop where a test wants the worker to die.

The folder `CRASH_FOLDER` outlives every worker: `effects.jsonl` has one line per effect; a file `stop-POINT` with the
numbers of visits (`1` or `1,2,3`) makes those visits to a point create `reached-POINT` and wait until the file is gone.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from activities.agents import Agent
from activities.notices.webhooks import Webhook
from activities.policy import ask_if
from activities.providers.protocol import ModelRequest
from activities.providers.script import position as position_of
from activities.providers.scripted import Script
from activities.queues.queue import Queue
from activities.tools.context import ToolContext
from activities.tools.tool import tool

FOLDER = Path(os.environ["CRASH_FOLDER"])


def append(name: str, line: str) -> int:
    """Add a line that survives the death of this process; how many bytes the file has then."""
    file = os.open(FOLDER / name, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        os.write(file, line.encode())
        os.fsync(file)
        return os.fstat(file).st_size
    finally:
        os.close(file)


def effect(what: str, context: ToolContext) -> None:
    key = context.idempotency_key
    fields = {"what": what, "job": context.job, "call": context.call, "attempt": context.attempt, "key": key}
    append("effects.jsonl", json.dumps(fields) + "\n")


def must_stop(point: str) -> bool:
    """Whether this visit to a point is one at which to stop."""
    visit = append(f"visits-{point}", "x")
    stop = FOLDER / f"stop-{point}"
    if not stop.exists() or str(visit) not in stop.read_text().split(","):
        return False
    (FOLDER / f"reached-{point}").write_text(f"{os.getpid()} {visit}")
    return True


async def stop_at(point: str) -> None:
    if must_stop(point):
        # Whom it waits for lives in another process: there is nothing to be told by.
        while (FOLDER / f"stop-{point}").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def hold(tool_name: str) -> Any:
    """A rule that has no opinion: where a worker can die after the plan (visit 1) and before the mark (visit 2)."""

    def rule(arguments: dict[str, Any]) -> None:
        point = f"rule-{tool_name}"
        if must_stop(point):
            while (FOLDER / f"stop-{point}").exists():
                time.sleep(0.02)

    return rule


@tool(read_only=True, policy=hold("read"))
async def read(key: str, context: ToolContext) -> str:
    await stop_at(f"begin-{key}")
    effect(f"read {key}", context)
    await stop_at(f"end-{key}")
    return f"value of {key}"


@tool(policy=[hold("charge"), "allow"])
async def charge(amount: int, context: ToolContext) -> str:
    effect(f"charge {amount}", context)
    await stop_at(f"charged-{amount}")
    return f"charged {amount}"


@tool(policy="allow", idempotent=True)
async def pay(amount: int, context: ToolContext) -> str:
    effect(f"pay {amount}", context)
    await stop_at(f"paid-{amount}")
    return f"paid {amount}"


@tool(policy=ask_if(lambda: True))
async def refund(amount: int, context: ToolContext) -> str:
    effect(f"refund {amount}", context)
    return f"refunded {amount}"


@tool(policy="allow")
def block(context: ToolContext) -> str:
    """A plain function that can't be interrupted."""
    effect("block", context)
    must_stop("blocked")
    time.sleep(60)
    return "never"


@tool(read_only=True)
def close_streams() -> str:
    sys.stdout.close()
    sys.stderr.close()
    return "closed"


@tool(read_only=True, retries=1)
def stumble() -> str:
    raise ValueError("no luck")


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


def agent(name: str, *rounds: Sequence[dict[str, object]], asks: Sequence[Agent] = ()) -> Agent:
    """Asks for these rounds of calls and answers "done"; each call of the model is an effect of its own."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        position = position_of(request)
        append("models.jsonl", json.dumps({"agent": name, "position": position}) + "\n")
        seconds = 60 if must_stop(f"model-{name}-{position}") else 0
        if position < len(rounds):
            return {"calls": list(rounds[position]), "seconds": seconds}
        return {"text": "done", "seconds": seconds}

    asked = [each.as_tool(f"Asks the {each.name}.") for each in asks]
    return Agent(name, Script(reply), tools=[read, charge, pay, refund, block, close_streams, stumble, *asked])


def talk(request: ModelRequest) -> dict[str, Any]:
    """Reads five times, with so many words that they have to be summed up after the fourth."""
    position = "summary" if request.purpose == "summary" else position_of(request)
    append("models.jsonl", json.dumps({"agent": "talker", "position": position}) + "\n")
    seconds = 60 if must_stop(f"model-talker-{position}") else 0
    if position == "summary":
        return {"text": "In short.", "seconds": seconds}
    calls = [call("read", key=str(position))] if position_of(request) < 5 else []
    return {"text": "t" * 3000 if calls else "done", "calls": calls, "seconds": seconds}


helper = agent("helper", [call("read", key="a")], [call("refund", amount=1)])
cashier = agent("cashier", [call("charge", amount=1)])

agents = [
    agent("chief", [call("helper", message="go"), call("helper", message="go on")], asks=[helper]),
    agent("boss", [call("cashier", message="go")], asks=[cashier]),
    agent("reader", [call("read", key="a")]),
    agent("reader-of-two", [call("read", key="a"), call("read", key="b")]),
    agent("charger", [call("charge", amount=1)]),
    agent("charger-and-reader", [call("charge", amount=1)], [call("read", key="a")]),
    agent("charger-of-two", [call("charge", amount=1), call("charge", amount=2)]),
    agent("payer", [call("pay", amount=1)]),
    agent("thinker"),
    Agent("talker", Script(talk), tools=[read], compact_at=3000),
    Agent("http-thinker", "openai-chat:gpt-4o"),
    Agent("background-thinker", "openai:gpt-5", settings={"background": True}),
    Agent("speaker", Script([{"text": "".join(f"{number} " for number in range(200)), "stream_seconds": 6}])),
    agent("refunder", [call("refund", amount=1)]),
    agent("blocker", [call("block")]),
    agent("closer", [call("close_streams")], [call("stumble")]),
    Agent("teller", Script([{"text": "done"}]), notify=[Webhook(os.environ.get("CRASH_HOOK", "http://127.0.0.1:9"))]),
]
queue = Queue("narrow", concurrency=1)
