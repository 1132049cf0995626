"""The night of `overnight.py` at half price, all in one process: a Temporal server, a worker, a stand-in of OpenAI.

Nothing of it stays. A worker keeps to the terms that its lanes were opened with; these are short, so that a night
takes seconds.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import worker
from activities.apps import load_app
from overnight_reader import read
from stand_ins.books import FAULTS, Body, Books
from stand_ins.openai_batches import OpenAIStandIn
from stand_ins.serving import serving
from surefoot import Client
from surefoot.connection import connect_embedded
from surefoot.embedded import lease
from surefoot.settings import Settings
from workflows.lanes.contracts import LaneTerms

__all__ = ["FAULTS", "half_price"]

QUEUE = "overnight"
MODEL = "openai:gpt-5"
TERMS = LaneTerms(quiet=0.5, longest_look=2.0, poll=0.5, longest_poll=2.0, settle=1.0, pause=2.0, longest_pause=4.0)

Night = Callable[..., Awaitable[str]]


async def half_price(app: Path, night: Night, fault: str | None = None) -> str:
    """What `night` tells of jobs whose model is asked in provider batches, of which one shows a fault."""
    books = Books(answer, faults=Counter([fault] if fault else []))
    async with serving(OpenAIStandIn(books).app) as port:
        os.environ.update(OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1", OPENAI_API_KEY="none-needed")
        async with a_worker(app) as client:
            told = await night(client, lane="batch", model=MODEL)
    sent, twice = len(books.batches), sum(count > 1 for count in books.billed.values())
    return f"{told}\nprovider batches: {sent}; requests sent alone: {len(books.alone)}; billed twice: {twice}"


@asynccontextmanager
async def a_worker(app: Path) -> AsyncIterator[Client]:
    """A client of a new server, and a worker that serves it; both end with the block."""
    with tempfile.TemporaryDirectory(prefix="overnight-") as folder:
        settings = Settings(home=Path(folder), app=app, remote=None, task_queue=QUEUE, idle_seconds=0.0)
        async with lease(settings) as held:
            temporal = await connect_embedded(settings, held.address)
            terms = worker.Settings(lane_terms=TERMS)
            async with worker.hosting(temporal, load_app(app), task_queue=QUEUE, settings=terms):
                yield Client(temporal, task_queue=QUEUE)


def answer(body: Body) -> Body:
    """As OpenAI's Responses API answers: what the reader says, or the call that it asks for."""
    mail = next(item["content"] for item in body["input"] if item.get("role") == "user")
    results = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    said = read(mail, results)
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said["text"]}]}]
    for call in said.get("calls", []):
        arguments = json.dumps(call["arguments"])
        output.append({"type": "function_call", "call_id": "call_1", "name": call["tool"], "arguments": arguments})
    usage = {"input_tokens": 120 + len(mail) // 4, "output_tokens": 30}
    return {
        "id": "resp_1",
        "status": "completed",
        "model": body["model"],
        "output": output,
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }
