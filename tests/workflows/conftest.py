"""Every workflow test ends with a replay of all that it ran; those marked `cold` run again, without a cache.

A worker without a cache replays each task from the beginning, as one does that was just started. All tests run so with
SUREFOOT_COLD=1.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from tests.conftest import Host, hosts
from tests.replaying import Ran, assert_replays

ALL_COLD = bool(os.environ.get("SUREFOOT_COLD"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "host" in metafunc.fixturenames:
        cold = ALL_COLD or metafunc.definition.get_closest_marker("cold")
        metafunc.parametrize("host", ["cached", "replayed"] if cold else ["cached"], indirect=True)


@pytest.fixture
async def host(
    temporal: Temporal, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Host]:
    """As everywhere. What a test changes by `monkeypatch` still holds for the replay."""
    ran = Ran()
    cached = 1000 if request.param == "cached" else 0
    yield hosts(temporal, request.node.name, tmp_path, cached=cached, interceptors=[ran])
    for job, run in ran.runs if cached else ():
        try:
            await assert_replays(temporal, job, run)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # the test has deleted it
                raise
    await ran.end(temporal)
