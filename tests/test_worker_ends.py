"""A worker's process ends when its event loop was ended from inside: one that serves nothing would keep its place."""

import subprocess
import sys

CODE = """
import asyncio, os, sys
import worker

async def never_ends():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def serve(*_):
    stuck = asyncio.create_task(never_ends())
    asyncio.get_running_loop().call_soon(sys.exit, 0)
    await stuck

worker._serve, worker.load_app, worker.LEAVING_SECONDS = serve, lambda path: None, 0.2
os._exit(worker.main(["--app", "any.py"]))
"""


def test_a_worker_whose_event_loop_was_ended_from_inside_ends_and_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert "CRITICAL surefoot.worker: the event loop was ended from inside" in done.stderr
