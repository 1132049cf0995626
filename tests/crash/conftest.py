"""Fixtures of the crash tests: real worker processes that are killed, of which none is left, and whose jobs replay."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from surefoot.client import Client
from tests.crash.processes import Workers, command_lines
from tests.crash.servers import Server
from tests.replaying import assert_replays


@pytest.fixture
async def workers(temporal: Temporal, tmp_path: Path) -> AsyncIterator[Workers]:
    address = temporal.service_client.config.target_host
    workers = Workers(address, f"crash-{uuid.uuid4().hex[:12]}", tmp_path)
    yield workers
    await workers.end()
    assert workers.alive() == []
    async for job in temporal.list_workflows(f"TaskQueue = '{workers.queue}'"):
        await assert_replays(temporal, job.id)


@pytest.fixture
def client(temporal: Temporal, workers: Workers) -> Client:
    return Client(temporal, task_queue=workers.queue)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(tmp_path / "temporal.db")
    await server.start()
    yield server
    await server.kill()
    assert [line for line in command_lines() if str(server.file) in line] == []


@pytest.fixture
async def own_workers(server: Server, tmp_path: Path) -> AsyncIterator[Workers]:
    workers = Workers(server.address, f"crash-{uuid.uuid4().hex[:12]}", tmp_path)
    yield workers
    await workers.end()
    assert workers.alive() == []
