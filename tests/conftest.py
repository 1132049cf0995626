"""Fixtures that start what tests need: one real Temporal server for the whole run, and workers in this process."""

import sys
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Interceptor

from activities.agents import Agent
from activities.apps import App
from activities.artifacts import Artifacts
from activities.payloads import data_converter
from activities.queues.queue import Queue
from surefoot.client import Client
from tests.replaying import Ran
from tests.reports import printable
from tests.short_tasks import ShortTasks
from worker import Settings, hosting
from workflows.showing import ATTRIBUTES

TEMPORAL = Path(sys.executable).with_name("temporal")
QUICK = Settings(heartbeat_seconds=3.0, retry_seconds=0.01, shutdown_seconds=1.0)

Host = Callable[..., AbstractAsyncContextManager[Client]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the server or the browser, or starts processes, is marked so; nobody has to think of it."""
    for item in items:
        used = getattr(item, "fixturenames", ())
        if "temporal" in used:
            item.add_marker(pytest.mark.server)
        if "browser" in used:
            item.add_marker(pytest.mark.browser)
        if "desk" in used:  # MCP servers, in processes of their own
            item.add_marker(pytest.mark.crash)
    items.sort(key=lambda item: item.path.name == "test_traffic_table.py")  # it looks at what the others have read


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """What a process of pytest-xdist sends to the first one."""
    return printable((yield))


@pytest.fixture(scope="session")
async def temporal() -> AsyncIterator[Temporal]:
    """A client of a real server, started once, with timers as fine as the embedded server's."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(TEMPORAL),
        dev_server_startup_timeout=timedelta(seconds=30),
        dev_server_extra_args=[
            "--dynamic-config-value",
            'history.timerProcessorMaxTimeShift="10ms"',
            "--dynamic-config-value",
            "history.transferProcessorMaxPollRPS=2000",
            "--dynamic-config-value",
            'history.workflowIdReuseMinimalInterval="10ms"',
        ],
        search_attributes=ATTRIBUTES,
        data_converter=data_converter(),
        interceptors=[ShortTasks()],
    ) as environment:
        yield environment.client


@pytest.fixture
async def host(temporal: Temporal, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Host]:
    """`async with host(agent, …) as client:` a worker in this process on a queue of this test's own."""
    ran = Ran()
    yield hosts(temporal, request.node.name, tmp_path, interceptors=[ran])
    await ran.end(temporal)


def hosts(
    temporal: Temporal, name: str, folder: Path, *, cached: int = 1000, interceptors: Sequence[Interceptor] = ()
) -> Host:
    """Starts workers on the queue `name`; `cached` is how many workflows they keep between two tasks."""
    queue, kept = name[:200], cached

    @asynccontextmanager
    async def start(
        *agents: Agent, settings: Settings = QUICK, cached: int | None = None, queues: Sequence[Queue] = ()
    ) -> AsyncIterator[Client]:
        chosen = replace(
            settings,
            artifacts=Artifacts(folder / "artifacts"),
            max_cached_workflows=kept if cached is None else cached,
        )
        served = App(agents, queues=queues)
        async with hosting(temporal, served, task_queue=queue, settings=chosen, interceptors=interceptors):
            yield Client(temporal, task_queue=queue)

    return start
