"""The SDK's own log does not get into what a command writes."""

import asyncio
import subprocess
import sys

import pytest
from temporalio.client import Client as Temporal

pytestmark = pytest.mark.server

LOSING_ITS_SERVER = """
import asyncio, os, sys
from datetime import timedelta
from temporalio.client import Client
from temporalio.service import RPCError
from surefoot.cli import exits

host, _, port = sys.argv[1].rpartition(":")
writers = []

async def pipe(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)

async def forward(reader, writer):
    there, back = await asyncio.open_connection(host, int(port))
    writers.extend([writer, back])
    await asyncio.gather(pipe(reader, back), pipe(there, writer), return_exceptions=True)

async def work():
    proxy = await asyncio.start_server(forward, "127.0.0.1", 0)
    client = await Client.connect("127.0.0.1:%d" % proxy.sockets[0].getsockname()[1])
    proxy.close()
    for writer in writers:
        writer.close()
    try:
        await client.service_client.check_health(retry=True, timeout=timedelta(seconds=20))
    except (RPCError, RuntimeError) as error:
        print("lost", file=sys.stderr)

try:
    exits.run(work())
finally:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
"""


async def test_a_server_that_is_lost_leaves_stdout_to_the_command(temporal: Temporal) -> None:
    address = temporal.service_client.config.target_host

    lost = [sys.executable, "-c", LOSING_ITS_SERVER, address]
    done = await asyncio.to_thread(subprocess.run, lost, capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr) == ("", "lost\n")
