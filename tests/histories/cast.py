"""The agents, tools and queues of all scenarios."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from activities.agents import Agent
from activities.approval import Approval
from activities.apps import App
from activities.budgets.tenant_budget import TenantBudget
from activities.errors import OutcomeUnknown, ToolError
from activities.notices.webhooks import Webhook
from activities.providers.scripted import Script
from activities.queues.queue import Queue
from activities.rates.rate import Rate
from activities.tools.tool import Tool, tool
from tests.mcp_servers.declared import desk
from workflows.contracts import JsonObject


@tool(read_only=True)
async def look_up(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@tool(read_only=True)
async def look_slowly(key: str, seconds: float) -> str:
    """Look something up, which takes its time."""
    await asyncio.sleep(seconds)
    return f"value of {key}"


@tool(read_only=True)
async def read_page(number: int) -> str:
    """Read a page of a text."""
    return f"page {number} " + "of a long story " * 100


@tool(pure=True)
async def double(number: int) -> int:
    """Compute."""
    return 2 * number


@tool(preview=lambda key: f"saves {key}")
async def save(key: str) -> str:
    """Save something."""
    return f"saved {key}"


@tool(policy="allow")
async def note(text: str) -> str:
    """Note something, without asking anybody."""
    return f"noted {text}"


@tool(policy="allow")
async def send(text: str) -> str:
    """Send something, and do not learn whether it arrived."""
    raise OutcomeUnknown


@tool(read_only=True)
async def fail(message: str) -> str:
    """Fail."""
    raise ToolError(message)


@tool(approval=Approval(remind=0.2, expires=0.5, on_timeout="deny"))
async def save_soon(key: str) -> str:
    """Save something, unless nobody allows it in time."""
    return f"saved {key}"


@tool(approval=Approval(expires=0.5, on_timeout="escalate", escalate_to=["board"]))
async def save_by_board(key: str) -> str:
    """Save something that others are asked about when nobody answers."""
    return f"saved {key}"


TOOLS: list[Tool] = [look_up, look_slowly, read_page, double, save, note, send, fail, save_soon, save_by_board]


def call(name: str, /, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


def calls(*made: dict[str, object], **rest: object) -> dict[str, object]:
    return {"calls": list(made), **rest}


def looks(*keys: str) -> dict[str, object]:
    return calls(*(call("look_up", key=key) for key in keys))


DONE: dict[str, object] = {"text": "done"}
WRITES = calls(*(call("save", key=key) for key in "abcd"), text="All four must be saved.")
SCRIPTS: dict[str, Sequence[dict[str, object]]] = {
    "reader": [
        calls(*(call("look_slowly", key=key, seconds=taken) for key, taken in (("a", 0.2), ("b", 0.0), ("c", 0.1)))),
        calls(call("double", number=1), call("double", number=2), call("look_up", key="d"), call("double", number=3)),
        DONE,
    ],
    "stumbler": [
        calls(call("nope"), call("look_up", wrong=1), {"tool": "note", "raw": "{"}, call("fail", message="no")),
        calls(call("note", text="cut"), stop="max_tokens"),
        {"text": "", "stop": "pause"},
        {"text": "to be continued", "stop": "pause"},
        DONE,
    ],
    "writer": [WRITES, DONE],
    "thinker": [{**WRITES, "seconds": 0.5}, DONE],
    "sender": [calls(*(call("send", text=text) for text in "abc"), call("note", text="d")), DONE],
    "plodder": [looks(f"k{number}") for number in range(40)],
    "repeater": [{**looks("same"), "repeat": True}],
    "spender": [{**looks(f"k{number}"), "usage": {"input_tokens": 60, "cost_usd": 0.3}} for number in range(9)],
    "worker": [calls(call("look_up", key="a"), call("note", text="b"), call("note", text="c")), DONE, DONE],
    "slow": [calls(call("look_slowly", key="a", seconds=30), call("note", text="b")), DONE, DONE],
    "answerer": [{**DONE, "seconds": 0.3}, {"text": "done again"}, {"text": "and again"}],
    "unlucky": [{"error": {"kind": "Overloaded", "message": "full", "times": 2}, "text": "done"}],
    "rejected": [{"error": {"kind": "Rejected", "message": "no such model"}}],
    "teller": [WRITES, DONE],
    "caller": [calls(call("desk_add", a=1, b=2), call("desk_issue_create_c3b580", title="x"), call("desk_fail")), DONE],
    "novelist": [calls(call("read_page", number=number), text="I read. " * 60) for number in range(9)] + [DONE, DONE],
    "hasty": [calls(call("save_soon", key="a"), call("save_by_board", key="b")), DONE],
    "rated": [{"error": {"kind": "RateLimited", "message": "slow down", "delay": 0.1, "times": 1}, "text": "done"}],
    "measured": [{**DONE, "usage": {"input_tokens": 500, "output_tokens": 0}}],
    "dear": [{**DONE, "seconds": 0.5, "usage": {"input_tokens": 100, "output_tokens": 0}}],
    "vague": [{"text": "five euros"}, {"text": '{"euros": 5}'}],
}  # fmt: skip
ERRANDS = calls(call("answerer", message="say"), call("writer", message="save"))
HOOK = Webhook("http://127.0.0.1:9", name="hook", format="slack")
"""Told of the jobs of one agent; its URL is that of the endpoint which is up for a scenario."""

EUROS: JsonObject = {"type": "object", "properties": {"euros": {"type": "integer"}}, "required": ["euros"]}

DESK = desk(Path(os.devnull), trusted=True, read_only=["fail"])
"""The MCP server of one agent."""


RATE = Rate("brisk", requests_per_minute=6000)
"""The rate of one agent, whose provider refuses its first call."""

TOKEN_RATE = Rate("measured", tokens_per_minute=600_000)


def app() -> App:
    queues = [Queue("nightly", concurrency=1), Queue("weekly", concurrency=1)]
    return App(agents(), queues=queues, tenant_budgets=[TenantBudget(tokens=1)])


def agents() -> list[Agent]:
    """Fresh ones for each worker: a script counts the attempts of its errors."""
    plain = [
        Agent(
            name,
            Script(replies),
            tools=TOOLS,
            output=EUROS if name == "vague" else None,
            notify=[HOOK] if name == "teller" else [],
            mcp=[DESK] if name == "caller" else [],
            compact_at=1800 if name == "novelist" else None,
            rate={"rated": RATE, "measured": TOKEN_RATE}.get(name),
        )
        for name, replies in SCRIPTS.items()
    ]
    plain.append(Agent("laned", "openai:gpt-4o", tools=TOOLS))
    asked = [agent.as_tool(f"Asks the {agent.name}.") for agent in plain if agent.name in ("answerer", "writer")]
    return [*plain, Agent("chief", Script([ERRANDS, DONE, DONE]), tools=asked)]
