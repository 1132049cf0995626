"""A program of a person's own beside the command line: one server, one queue, the same jobs."""

import subprocess
import sys

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server

PROGRAM = """
import asyncio
from surefoot import Client

async def main() -> None:
    client = await Client.connect(app="shop.py")
    job = await client.start("plain", "x", id="from-python")
    print((await job.outcome()).answer)

asyncio.run(main())
"""


def test_a_job_that_a_program_starts_runs_on_the_worker_that_is_up_and_is_listed(shop: Place) -> None:
    environment = {**shop.environment, "SUREFOOT_APP": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=shop.folder, env=environment, capture_output=True, text=True, timeout=60
    )
    shown = shop.run("show", "from-python")

    assert (done.returncode, done.stdout) == (0, "Grüße an alle\n"), done.stderr
    assert (shown.code, shown.out.splitlines()[0]) == (0, "from-python  agent plain  ended")


LEAVING = """
import asyncio
from surefoot import Client

async def main() -> None:
    client = await Client.connect(app="shop.py")
    first, *_ = [asyncio.create_task(client.jobs()) for _ in range(5)]
    await first

asyncio.run(main())
"""


def test_a_program_that_ends_with_calls_open_ends_cleanly_each_time(shop: Place) -> None:
    codes = [
        subprocess.run(
            [sys.executable, "-c", LEAVING], cwd=shop.folder, env=shop.environment, capture_output=True, timeout=60
        ).returncode
        for _ in range(10)
    ]

    assert codes == [0] * 10
