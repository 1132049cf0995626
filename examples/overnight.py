"""Overnight: forty support mails become a batch; in the morning there are answers, the bill, and what needs a person.

    surefoot run --app examples/overnight.py sorter "The teapot of order A-2001 is broken. I paid 24.90 EUR."

The batch on the command line; nothing more is to be started:

    surefoot batch submit examples/data/mails.jsonl --app examples/overnight.py --agent sorter --watch
    surefoot inbox                                   # the refunds, each waits for its decision
    surefoot batch results BATCH -o answers.jsonl    # what is there by now

The same from Python, with `surefoot dev --app examples/overnight.py` in another terminal:

    python examples/overnight.py

Submitted again, the same file is the same batch: no mail is answered twice.

And at half price, by way of provider batches, which take a night in earnest. Here a stand-in of OpenAI's batch API
answers at once, on a server that is gone afterwards; `--fault` lets something go wrong there (`--help` lists what can):

    python examples/overnight.py --lane batch --fault half_failed
"""

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from models import model
from overnight_reader import READER
from surefoot import Agent, Client, Limits, tool
from surefoot.batches import Batch, Budget, results
from workflows.contracts import Usage

MAILS = Path(__file__).parent / "data" / "mails.jsonl"


class Sorted(BaseModel):
    """What a mail is about, and what its writer is answered."""

    topic: Literal["damage", "delivery", "invoice", "question", "praise"]
    reply: str


@tool(preview=lambda order_id, amount: f"Pay {amount:.2f} EUR back for {order_id}")
def refund(order_id: str, amount: float, reason: str) -> str:
    """Pay money back for an order that arrived damaged. A person decides.

    Args:
        order_id: such as A-2001
        amount: in EUR, what the customer paid
        reason: what the customer is told
    """
    return f"{amount:.2f} EUR are paid back for {order_id}."


sorter = Agent(
    "sorter",
    model(READER),
    instructions="You sort and answer the mails of a shop. Pay back what was paid for goods that arrived damaged.",
    tools=[refund],
    limits=Limits(rounds=3, cost_usd=0.05),
    output=Sorted,
)


async def overnight(client: Client, **how: Any) -> str:
    """Submit the mails, wait until nothing is left that can be done without a person, and say what was done.

    `how` are more arguments of `Batches.submit`.
    """
    batch = await client.batches.submit(MAILS, agent="sorter", concurrency=10, budget=Budget(cost_usd=1.0), **how)
    async for view in batch.follow():
        if view.state in ("waiting", "held"):
            break
    return await report(client, batch)


async def report(client: Client, batch: Batch) -> str:
    """What was answered, what it cost, and what waits."""
    view = await batch.view()
    topics: Counter[str] = Counter()
    used, waited = Usage(), 0.0
    async for row in results(batch):
        if row.outcome is not None:
            used += row.outcome.usage
            waited = max(waited, row.outcome.batched_seconds)
        topics[str(row.output["topic"]) if isinstance(row.output, dict) else f"{row.status}"] += 1
    lines = [f"{batch.id}: {view.done} of {view.lines} mails answered, {view.waiting} wait, {view.failed} failed"]
    lines += [f"  {count:3} {topic}" for topic, count in topics.most_common()]
    lines.append(f"spent on these: ${used.cost_usd:.4f}, {used.tokens:,} tokens")
    if waited:
        lines.append(f"saved: ${used.saved_usd:.4f}; added: up to {waited:.0f} s of waiting for provider batches")
    waiting = [item for item in await client.inbox() if item.job.startswith(f"{batch.id}-")]
    lines += [f"waits: {item.preview} ({item.job} {item.call})" for item in waiting]
    return "\n".join(lines)


async def main() -> None:
    from overnight_lane import FAULTS, half_price

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lane", choices=("sync", "batch"), default="sync", help="batch: a stand-in, at half price")
    parser.add_argument("--fault", choices=FAULTS, help="what goes wrong once at the stand-in")
    options = parser.parse_args()
    if options.lane == "batch" or options.fault:
        told = await half_price(Path(__file__), overnight, options.fault)
    else:
        told = await overnight(await Client.connect(app=__file__))
        told += "\ndecide in the console, or: surefoot approve JOB CALL"
    sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    asyncio.run(main())
