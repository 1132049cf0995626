"""Whoever submits a batch is killed in the midst of it, and does it once more: it is one batch, with each line once."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from surefoot.batches.results import results
from surefoot.client import Client
from tests.crash.processes import ROOT, Workers
from tests.waiting import until

pytestmark = pytest.mark.crash
SUBMITS = Path(__file__).parent / "apps" / "submit_file.py"
LINES, PARTS = 200, 100


async def submitting(client: Client, file: Path, *stop: str) -> asyncio.subprocess.Process:
    address = client.temporal.service_client.config.target_host
    return await asyncio.create_subprocess_exec(
        sys.executable, str(SUBMITS), str(file), client.task_queue, *stop,
        cwd=ROOT, env={**os.environ, "TEMPORAL_ADDRESS": address, "PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def killed_at(client: Client, file: Path, stop: int) -> None:
    """Submit and kill -9 when it has come so far."""
    process = await submitting(client, file, str(stop))
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 60) == b"reached\n"
    process.kill()
    await process.wait()


async def submitted(client: Client, file: Path) -> str:
    process = await submitting(client, file)
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    return said.decode().strip()


@pytest.mark.parametrize(
    "stops", [(1,), (PARTS // 2, PARTS // 2, PARTS), (PARTS + 1,)], ids=["at-once", "in-the-midst", "at-the-end"]
)
async def test_a_submission_that_is_killed_and_repeated_is_one_batch_with_each_line_once(
    workers: Workers, client: Client, tmp_path: Path, stops: tuple[int, ...]
) -> None:
    file = tmp_path / "jobs.jsonl"
    written = [{"custom_id": f"{client.task_queue}-{n}", "input": f"say {n}"} for n in range(1, LINES + 1)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in written))
    for stop in stops:
        await killed_at(client, file, stop)
    again = {await submitted(client, file) for _ in range(2)}
    (batch,) = [client.batches[id] for id in again]
    await workers.start()
    view = await until(batch.view, lambda view: view.state == "ended", seconds=120)
    rows = [row async for row in results(batch, whole=True)]
    parts = (await batch.state()).parts

    assert [(row.custom_id, row.status) for row in rows] == [(line["custom_id"], "complete") for line in written]
    assert (view.lines, view.done, view.spent.jobs, len(parts)) == (LINES, LINES, LINES, PARTS)
    assert len(workers.model_calls("thinker")) == LINES
