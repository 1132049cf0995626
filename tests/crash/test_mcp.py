"""kill -9 of a worker in the middle of a call of an MCP tool: its servers end with it, and a person is asked."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from surefoot.client import Client
from tests.activities.mcp.conftest import is_alive
from tests.crash.processes import APP, Workers
from tests.mcp_servers.declared import calls, pids
from tests.waiting import until
from tests.workflows.gated import waiting

pytestmark = pytest.mark.crash


@pytest.fixture
async def desk_workers(client: Client, tmp_path: Path) -> AsyncIterator[Workers]:
    """Workers whose agent has an MCP server."""
    address = client.temporal.service_client.config.target_host
    workers = Workers(address, client.task_queue, tmp_path, APP.with_name("desk_app.py"))
    yield workers
    await workers.end()


async def test_a_worker_that_is_killed_takes_its_servers_along_and_its_call_goes_to_the_inbox(
    desk_workers: Workers, client: Client
) -> None:
    log = desk_workers.folder / "desk.log"

    async def made() -> list[str]:
        return calls(log)

    async def all_gone() -> bool:
        return not any(is_alive(pid) for pid in first)

    worker = await desk_workers.start()
    job = await client.start("caller", "go")
    await until(made, lambda names: names == ["hang"])
    first = pids(log)
    await worker.kill()
    await until(all_gone, seconds=10)
    await desk_workers.start()
    [pending] = await waiting(job)

    assert len(first) == 1
    assert pending.kind == "unknown_outcome"
    assert calls(log) == ["hang"]


async def test_a_worker_that_is_killed_takes_a_server_along_that_does_not_look_at_its_stdin(
    desk_workers: Workers, client: Client
) -> None:
    log = desk_workers.folder / "desk.log"

    async def up() -> list[int]:
        return pids(log)

    async def all_gone() -> bool:
        return not any(is_alive(pid) for pid in first)

    worker = await desk_workers.start()
    job = await client.start("opener", "go")
    first = await until(up)
    await worker.kill()
    await until(all_gone, seconds=10)
    await job.cancel()

    assert len(first) == 1


async def test_a_worker_that_stops_closes_its_servers(desk_workers: Workers, client: Client) -> None:
    log = desk_workers.folder / "desk.log"

    async def made() -> list[str]:
        return calls(log)

    worker = await desk_workers.start()
    await client.start("caller", "go")
    await until(made, lambda names: names == ["hang"])
    code = await worker.terminate()

    assert code == 0
    assert not any(is_alive(pid) for pid in pids(log))
