"""Fixtures of the crash tests: real worker processes that are killed, and that none of them is left."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from surefoot.client import Client
from tests.crash.processes import Workers


@pytest.fixture
async def workers(temporal: Temporal, tmp_path: Path) -> AsyncIterator[Workers]:
    address = temporal.service_client.config.target_host
    workers = Workers(address, f"crash-{uuid.uuid4().hex[:12]}", tmp_path)
    yield workers
    await workers.end()
    assert workers.alive() == []


@pytest.fixture
def client(temporal: Temporal, workers: Workers) -> Client:
    return Client(temporal, task_queue=workers.queue)
