"""`python -m bench.gate`: how soon a decision lets its call begin, and what thousands of waiting jobs cost.

The worker is a process of its own, as `python -m worker` runs it; client and pages are in this one. All are on one
machine, so that both ends of a decision read the same clock.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from httpx2 import ASGITransport, AsyncClient

import worker
from bench.command import machine
from bench.gate_app import BEGUN
from bench.processes import a_process, memory_of
from bench.report import Target
from bench.server import running
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.inbox import InboxItem
from workflows.showing import AGENT, PHASE

QUEUE = "bench-gate"
STARTED_AT_ONCE = 50
WARM = 20
LOOKS = 20
PAGE = 50
PAGES = ("/inbox", "/jobs", "/jobs?state=ended", "/jobs/talker-0")
MB = 1e6


@dataclass
class Seen:
    """What was measured. Times in milliseconds, memory in bytes."""

    decisions: list[float] = field(default_factory=list)
    idle: int = 0
    parked: int = 0
    inbox: list[float] = field(default_factory=list)
    pages: dict[str, float] = field(default_factory=dict)


async def start(client: Client, agent: str, count: int, first: int = 0) -> None:
    """Start so many jobs of an agent, a few at a time."""
    places = asyncio.Semaphore(STARTED_AT_ONCE)

    async def one(number: int) -> None:
        async with places:
            job = f"{agent}-{number}"
            await client.start(agent, job, id=job)

    await asyncio.gather(*(one(number) for number in range(first, first + count)))


async def until_count(client: Client, query: str, count: int) -> None:
    """Until visibility knows so many jobs that are as `query` says."""
    while (await client.temporal.count_workflows(query)).count < count:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0.2)


def waiting(phase: str = "waiting") -> str:
    return f"{PHASE.name} = '{phase}' AND {AGENT.name} = 'payer' AND ExecutionStatus = 'Running'"


async def decide(client: Client, items: list[InboxItem]) -> dict[str, float]:
    """Approve these calls one after the other; when the approval of each job's call was sent."""
    random.Random(7).shuffle(items)
    sent: dict[str, float] = {}
    for item in items:
        sent[item.job] = time.time()
        await client.job(item.job).approve(item.call, digest=item.digest, by="bench")
        await client.job(item.job).outcome()
    return sent


def delays(sent: dict[str, float], begun: Path) -> list[float]:
    """How long after each approval its tool began, in milliseconds."""
    began = dict(line.split() for line in begun.read_text().splitlines())
    return [(float(began[job]) - at) * 1000 for job, at in sent.items()]


async def timed(look: Callable[[], Awaitable[object]]) -> list[float]:
    """How long it takes, so many times."""
    taken: list[float] = []
    for _ in range(LOOKS):
        since = time.perf_counter()
        await look()
        taken.append((time.perf_counter() - since) * 1000)
    return taken


async def pages(client: Client) -> dict[str, float]:
    """How long the console takes for each of its pages (the median); asked in this process, without a network."""
    app = create_app(client, Access.open("bench"))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as asked:

        async def look(path: str) -> None:
            (await asked.get(path)).raise_for_status()

        return {path: median(await timed(lambda path=path: look(path))) for path in PAGES}


async def measure(address: str, folder: Path, jobs: int, decisions: int) -> Seen:
    seen, begun = Seen(), folder / "begun"
    app = str(Path(__file__).with_name("gate_app.py"))
    line = [sys.executable, "-m", "worker", "--app", app, "--task-queue", QUEUE]
    with a_process(line, folder / "worker.log", TEMPORAL_ADDRESS=address, **{BEGUN: str(begun)}) as process:
        temporal = await worker.connect(target_host=address)
        client = Client(temporal, task_queue=QUEUE)
        await start(client, "talker", WARM)
        await until_count(client, f"{AGENT.name} = 'talker' AND ExecutionStatus = 'Completed'", WARM)
        seen.idle = memory_of(process)
        await start(client, "payer", decisions)
        await until_count(client, waiting(), decisions)
        seen.decisions = delays(await decide(client, await client.inbox()), begun)
        await start(client, "payer", jobs, first=decisions)
        await until_count(client, waiting(), jobs)
        seen.parked = memory_of(process)
        seen.inbox = await timed(lambda: client.inbox_page(jobs=PAGE))
        await start(client, "talker", jobs, first=WARM)
        await until_count(client, f"{AGENT.name} = 'talker' AND ExecutionStatus = 'Completed'", WARM + jobs)
        seen.pages = await pages(client)
    return seen


def targets(seen: Seen, jobs: int, decisions: int) -> list[Target]:
    """What a gate promises, against what was measured."""
    middle, late = median(seen.decisions), quantiles(seen.decisions, n=100)[98]
    grown, page = (seen.parked - seen.idle) / MB, median(seen.inbox)
    return [
        Target(
            f"decision to start of the tool, {decisions} jobs wait: median under 150 ms", f"{middle:.0f}", middle < 150
        ),
        Target(f"decision to start of the tool, {decisions} jobs wait: p99 under 1,000 ms", f"{late:.0f}", late < 1000),
        Target(f"{jobs:,} parked jobs: worker at most 150 MB above idle", f"{grown:.0f}", grown <= 150),
        Target(f"{jobs:,} parked jobs: first page of the inbox under 300 ms", f"{page:.0f}", page < 300),
        *(
            Target(f"{2 * jobs:,} jobs: console page {path} under 100 ms", f"{taken:.0f}", taken < 100)
            for path, taken in seen.pages.items()
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000, metavar="N", help="how many jobs are parked")
    parser.add_argument("--decisions", type=int, default=200, metavar="N", help="how many decisions are timed")
    options = parser.parse_args()
    with (
        running() as server,
        tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder,
        asyncio.Runner(loop_factory=worker.loop_factory()) as runner,
    ):
        seen = runner.run(measure(server.address, Path(folder), options.jobs, options.decisions))
    sys.stdout.write("".join(f"{line}\n" for line in (machine(), "", *targets(seen, options.jobs, options.decisions))))


if __name__ == "__main__":
    main()
