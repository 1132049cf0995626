"""An agent with tools worth a person's look, for the tests of the console."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from activities.agents import Agent
from activities.errors import OutcomeUnknown, ToolError
from activities.providers.scripted import Script
from activities.tools.tool import Tool, tool
from surefoot.client import Client
from surefoot.job import Job
from tests.workflows.gated import recorded, waiting

HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    " javascript:window.pwned=3 \u202egnp.exe\u202c \x1b[31mred\x1b[0m {{ 7 * 7 }} </textarea>\"'>"
)


class Desk:
    """What the write tools of one test did, in order. The next `loses` calls leave nobody knowing what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fault: str | None = None
        self.loses = 0

    def refund(self, **options: Any) -> Tool:
        async def refund(
            order: str,
            amount: float,
            currency: Literal["EUR", "USD"] = "EUR",
            reason: str | None = None,
            items: list[dict[str, str | int]] | None = None,
        ) -> str:
            """Pay money back.

            Args:
                order: the order's number
                amount: how much, at most what was paid
            """
            if self.loses > 0:
                self.loses -= 1
                raise OutcomeUnknown
            if self.fault is not None:
                raise ToolError(self.fault)
            self.done.append(f"{order} {amount:g} {currency}")
            return f"refunded {amount:g} {currency} for {order}"

        preview = options.pop("preview", lambda order, amount: f"pays {amount:g} back to the customer of {order}")
        return tool(**{"name": "refund", "preview": preview, **options})(refund)


@tool(read_only=True)
async def find_order(order: str) -> str:
    """Look an order up."""
    await asyncio.sleep(0.002)  # a step under half a millisecond counts as none, and the picture leaves it out
    return f"order {order}: paid 80 EUR on 3 November, delivered late"


def call(name: str, /, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


def agent(name: str, *rounds: Sequence[dict[str, object]], tools: Sequence[Tool], **options: Any) -> Agent:
    """An agent that asks for these rounds of calls, and then is done."""
    text = options.pop("text", "The parcel came two weeks late, so the customer gets the money back.")
    replies: list[dict[str, object]] = [
        {"text": text, "calls": list(calls), "usage": {"input_tokens": 900, "output_tokens": 60, "cost_usd": 0.0042}}
        for calls in rounds
    ]
    return Agent(name, Script([*replies, {"text": "All done.", "repeat": True}]), tools=tools, **options)


REFUND = call("refund", order="A-17", amount=80.0, reason="late")


async def asked(client: Client, name: str = "desk", count: int = 1) -> Job:
    """A new job of the agent `name` whose `count` calls are in the inbox."""
    job = await client.start(name, "help")
    await waiting(job, count)
    await recorded(client, job)
    return job
