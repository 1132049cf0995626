"""The app of these tests. Its models are scripts, and `done.log` beside it shows which writes ran."""

import os
import sys
import time
from pathlib import Path

from surefoot import Agent, Approval, Limits, OutcomeUnknown, Queue, ToolContext, tool

HERE = Path(__file__).parent
print("an app may print when it is loaded")  # noqa: T201 - the point


@tool(read_only=True)
def stock(item: str) -> int:
    """How many pieces are there."""
    return {"teapot": 3}.get(item, 0)


@tool
def reorder(item: str, pieces: int) -> str:
    """Order new pieces of an item."""
    with (HERE / "done.log").open("a") as log:
        log.write(f"{item} {pieces}\n")
    return f"{pieces} x {item} ordered"


@tool(read_only=True)
def linger(context: ToolContext) -> str:
    """Takes until somebody lays the file `go` beside the app."""
    (HERE / "lingers").touch()
    while not (HERE / "go").exists():
        context.heartbeat()
        time.sleep(0.02)
    return "at last"


@tool
def pay(amount: int) -> str:
    """Loses sight of its own end."""
    raise OutcomeUnknown(f"the bank did not answer about {amount}")


@tool(read_only=True)
def much() -> str:
    """Returns more than a model is told."""
    return "ä" * 300_000 + "END"


def scripted(name: str, *tools: object, **options: object) -> Agent:
    return Agent(name, f"scripted:{name}.json", "x", tools=tools, **options)  # type: ignore[arg-type]


shop = scripted("shop", stock, reorder)
speaker = scripted("speaker", stock)
talker = scripted("talker")
twice = scripted("twice", reorder)
guarded = Agent(
    "guarded",
    "scripted:twice.json",
    "x",
    tools=[reorder],
    approval={"reorder": Approval(approvers=["finance"], quorum=2)},
)
plain = scripted("plain")
nightly = Queue("nightly", concurrency=1)
chatty = scripted("chatty")
slow = scripted("slow", linger)
bank = scripted("bank", pay)
rude = scripted("rude", reorder)
wordy = scripted("wordy", much)
capped = scripted("capped", stock, limits=Limits(rounds=1))
finder = Agent("finder", "scripted:capped.json", "x", tools=[stock], limits=Limits(rounds=1), closing="findings")
failing = scripted("failing")
flaky = scripted("flaky")
listed = Agent("listed", ["scripted:overloaded.json", "scripted:plain.json"], "x")
citing = scripted("citing", stock, cite=True)

buyer = scripted("buyer", reorder)
chief = scripted("chief", buyer.as_tool("Buys what is missing."))
boss = scripted("boss", chief.as_tool("Sees to it."))

time.sleep(float(os.environ.get("SHOP_SLEEPS") or 0))
if os.environ.get("SHOP_IS_BROKEN"):
    sys.modules[""].nothing  # noqa: B018 - fails here
