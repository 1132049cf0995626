"""Every workflow test runs twice: with cached workflows, and with each task replayed from the beginning."""

from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from tests.conftest import Host, hosts


@pytest.fixture(params=["cached", "replayed"])
def host(temporal: Temporal, request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return hosts(temporal, request.node.name, tmp_path, cached=1000 if request.param == "cached" else 0)
