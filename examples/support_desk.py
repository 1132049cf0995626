"""A support desk: reads run in parallel, and a refund waits for a person.

    surefoot run --app examples/support_desk.py support "Order A-1001 arrived broken. Can I have my money back?"

Refunds of up to 20 EUR need no approval and those over 1000 EUR are never made; between them a person decides.
Other scripts show the rest:

    --model scripted:scripts/support_desk_small.json         18 EUR: paid without a question
    --model scripted:scripts/support_desk_large.json         1840 EUR: denied by policy
    --model scripted:scripts/support_desk_wrong_number.json  one of two reads fails, the other is used

`surefoot demo` runs this app and ends its worker in the middle. Two variables serve it:

    SUREFOOT_DEMO_LOG      where each tool that ran leaves one line (else examples/work/support_desk.jsonl)
    SUREFOOT_DEMO_SECONDS  how long payment_history takes (else no time)
"""

import json
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from models import model
from surefoot import Agent, ToolContext, ToolError, allow_if, deny_if, tool

HERE = Path(__file__).parent
LOG = Path(os.environ.get("SUREFOOT_DEMO_LOG") or HERE / "work" / "support_desk.jsonl")
ORDERS: dict[str, Any] = json.loads((HERE / "data" / "orders.json").read_text())


@tool(read_only=True)
def order_status(order_id: str, context: ToolContext) -> str:
    """What was ordered, and where it is.

    Args:
        order_id: such as A-1001
    """
    order = _order(order_id)
    _note(context, order=order_id)
    return f"{order_id} ({order['item']}) was {order['status']}."


@tool(read_only=True)
def payment_history(order_id: str, context: ToolContext) -> str:
    """What was paid for an order, and when.

    Args:
        order_id: such as A-1001
    """
    order = _order(order_id)
    end = time.monotonic() + float(os.environ.get("SUREFOOT_DEMO_SECONDS") or 0)
    while time.monotonic() < end:
        context.heartbeat()  # raises once the job was cancelled: nobody waits for the rest
        time.sleep(0.05)
    _note(context, order=order_id)
    return f"{order['paid']} EUR were paid for {order_id} on {order['paid_on']}."


def preview_refund(order_id: str, amount: Decimal) -> str:
    return f"Pay {amount:.2f} EUR back to {_order(order_id)['customer']}, who paid {_order(order_id)['paid']} EUR"


# Not idempotent: this bank takes no key, so a second call would pay twice. Surefoot never makes it; if a crash
# hides how a refund ended, a person is asked.
@tool(
    preview=preview_refund,
    policy=[
        deny_if(lambda amount: amount > 1000, reason="Refunds over 1000 EUR are made by the accounts office."),
        allow_if(lambda amount: amount <= 20),
    ],
)
def refund(
    order_id: str, amount: Annotated[Decimal, Field(gt=0, decimal_places=2)], reason: str, context: ToolContext
) -> str:
    """Pay money back to the customer of an order.

    Args:
        order_id: such as A-1001
        amount: in EUR
        reason: what the customer is told
    """
    order = _order(order_id)
    if amount > Decimal(order["paid"]):
        raise ToolError(f"Only {order['paid']} EUR were paid for {order_id}; nothing was refunded.")
    _note(context, order=order_id, amount=f"{amount:.2f}")
    return f"{amount:.2f} EUR were paid back to {order['customer']}."


def _order(order_id: str) -> dict[str, str]:
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}. Ask the customer for the number on the invoice.")
    order: dict[str, str] = ORDERS[order_id]
    return order


def _note(context: ToolContext, **what: str) -> None:
    """Leave the line that says that a tool ran, on disk before the tool returns, and whole however many write."""
    line = {"tool": context.tool, "job": context.job, "call": context.call, "attempt": context.attempt, **what}
    LOG.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{json.dumps(line)}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)


support = Agent(
    "support",
    model("support_desk.json"),
    instructions=(
        "You work at the support desk of a shop. Look an order and its payments up before you decide anything, both"
        " at once. Refund what was paid for goods that arrived broken."
    ),
    tools=[order_status, payment_history, refund],
)
