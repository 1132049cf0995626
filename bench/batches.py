"""`python -m bench.batches`: what a batch of small jobs costs beside the least that Temporal can do.

Both workers are processes of their own and run one after the other on one server, each beginning with a small warm-up.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import worker
from bench import batch_bare
from bench.command import machine
from bench.processes import a_process, memory_of, own_peak_bytes, seconds_of
from bench.report import Target
from bench.server import Running, running
from surefoot.batches import results
from surefoot.batches.batch import Batch
from surefoot.batches.checking import Checked, reading
from surefoot.batches.submitting import put_parts, submit
from surefoot.client import Client
from workflows.batches.contracts import BatchLine, BatchOrder

QUEUE = "bench-batches"
WARM = 50
MB = 1e6


@dataclass
class Seen:
    """What was measured: seconds, bytes, counts."""

    bare: float = 0.0
    ours: float = 0.0
    cpu: list[str] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    in_order: bool = False


async def measure_bare(client: Client, jobs: int, window: int) -> float:
    """Seconds for so many children of the bare parent."""

    async def run(count: int, id: str) -> None:
        await client.temporal.execute_workflow("Parent", args=[count, window], id=id, task_queue=batch_bare.QUEUE)

    await run(WARM, "bare-warm")
    since = time.perf_counter()
    await run(jobs, "bare")
    return time.perf_counter() - since


async def measure_ours(client: Client, jobs: int, window: int, process: int, seen: Seen) -> None:
    await _batch(client, "warm", WARM, window)
    since = time.perf_counter()
    batch = Batch(client.temporal, "jobs")
    looking = asyncio.create_task(_look(batch, jobs, process, seen))
    await _batch(client, "jobs", jobs, window)
    seen.ours = time.perf_counter() - since
    await looking


async def _batch(client: Client, id: str, jobs: int, window: int) -> None:
    lines = (BatchLine(number=n, custom_id=f"id-{n}", input="say hello") for n in range(1, jobs + 1))
    order = BatchOrder(agent="talker")
    await submit(client.temporal, QUEUE, lines, order, id=id, digest=id, concurrency=window)
    await client.temporal.get_workflow_handle(id).result()


async def _look(batch: Batch, jobs: int, process: int, seen: Seen) -> None:
    """The batch's history and the worker's memory at each thousandth job."""
    at = 0
    while at < jobs:
        await asyncio.sleep(0.5)
        try:
            view = await batch.view()
        except Exception:  # it has not begun
            continue
        if view.done // 1000 > at // 1000 or view.state == "ended":
            at = view.done
            seen.events.append((await batch.describe()).history_length)
            seen.memory.append(memory_of(process))


async def measure(server: Running, folder: Path, jobs: int, window: int) -> Seen:
    seen, address = Seen(), server.address
    client = Client(await worker.connect(target_host=address), task_queue=QUEUE)
    bare = [sys.executable, "-m", "bench.batch_bare", address]
    with (
        a_process(bare, folder / "bare.log") as process,
        charged(seen, "bare parent", server.process, process, jobs),
    ):
        seen.bare = await measure_bare(client, jobs, window)
    app = str(Path(__file__).with_name("batch_app.py"))
    line = [sys.executable, "-m", "worker", "--app", app, "--task-queue", QUEUE]
    with a_process(line, folder / "worker.log", TEMPORAL_ADDRESS=address) as process:
        with charged(seen, "Surefoot", server.process, process, jobs):
            await measure_ours(client, jobs, window, process, seen)
        expected = [f"id-{number}" for number in range(1, jobs + 1)]
        seen.in_order = [row.custom_id async for row in results(Batch(client.temporal, "jobs"))] == expected
    return seen


@contextmanager
def charged(seen: Seen, name: str, server: int, process: int, jobs: int) -> Iterator[None]:
    """What the block takes of the processor, on both sides, for each job."""
    before = seconds_of(server), seconds_of(process)
    yield
    took = seconds_of(server) - before[0], seconds_of(process) - before[1]
    seen.cpu.append(f"{name}: server {1000 * took[0] / jobs:.1f} ms, worker {1000 * took[1] / jobs:.1f} ms a job")


def targets(seen: Seen, jobs: int) -> list[Target]:
    ratio = seen.bare / seen.ours
    rates = f"{ratio:.2f} ({jobs / seen.ours:.0f}/s beside {jobs / seen.bare:.0f}/s)"
    least, most = min(seen.memory) / MB, max(seen.memory) / MB
    return [
        Target(f"{jobs:,} one-round jobs: at least 0.8 of the bare parent's jobs per second", rates, ratio >= 0.8),
        Target("the batch's own history: events", str(seen.events), max(seen.events) < 1000),
        Target("worker memory flat, ±20 %", f"{least:.0f} to {most:.0f} MB", most <= 1.2 * least),
        Target("results complete and in the file's order", str(seen.in_order), seen.in_order),
    ]


def accepting(address: str, lines: int) -> list[Target]:
    """What it takes to check a file of so many lines and to put them with the server, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        file = Path(folder, "jobs.jsonl")
        with file.open("w") as opened:
            for number in range(lines):
                opened.write(f'{{"custom_id": "id-{number}", "input": "{"what is due of order " * 8}{number}"}}\n')
        since = time.perf_counter()
        script = "import sys, bench.batches; bench.batches.accept(*sys.argv[1:])"
        ended = subprocess.run(
            [sys.executable, "-c", script, address, str(file)], capture_output=True, text=True, check=True
        )
        seconds, peak = time.perf_counter() - since, int(ended.stdout) / MB
    return [
        Target(f"{lines:,} lines checked and accepted: under a minute", f"{seconds:.1f} s", seconds < 60),
        Target(f"{lines:,} lines checked and accepted: under 200 MB", f"{peak:.0f} MB", peak < 200),
    ]


def accept(address: str, file: str) -> None:
    """Check a file, put its lines with the server, and print the most memory that this took."""
    with reading(file, agent="talker") as found:
        asyncio.run(_put(address, found))
    sys.stdout.write(f"{own_peak_bytes()}\n")


async def _put(address: str, found: Checked) -> None:
    temporal = await worker.connect(target_host=address)
    parts = await put_parts(temporal, QUEUE, "accepted", "lines", found.lines())
    assert sum(part.lines for part in parts) == found.good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000, metavar="N", help="how many lines the batch has")
    parser.add_argument("--window", type=int, default=50, metavar="N", help="how many jobs run at the same time")
    parser.add_argument("--lines", type=int, default=100_000, metavar="N", help="how many lines are checked")
    options = parser.parse_args()
    with (
        running() as server,
        tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder,
        asyncio.Runner(loop_factory=worker.loop_factory()) as runner,
    ):
        seen = runner.run(measure(server, Path(folder), options.jobs, options.window))
        accepted = accepting(server.address, options.lines)
    lines = (machine(), "", *targets(seen, options.jobs), *accepted, "", *seen.cpu)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
