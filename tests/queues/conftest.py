"""A server that shares out work as the embedded one does, with one partition a queue, so that orders are strict."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client as Temporal
from temporalio.testing import WorkflowEnvironment

from activities.payloads import data_converter
from surefoot.embedded.server import DYNAMIC_CONFIG
from tests.conftest import TEMPORAL
from workflows.showing import ATTRIBUTES

ONE_PARTITION = ("matching.numTaskqueueReadPartitions=1", "matching.numTaskqueueWritePartitions=1")


@pytest.fixture(scope="session")
async def temporal() -> AsyncIterator[Temporal]:
    options = (*DYNAMIC_CONFIG, *ONE_PARTITION)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(TEMPORAL),
        dev_server_startup_timeout=timedelta(seconds=30),
        dev_server_extra_args=[part for each in options for part in ("--dynamic-config-value", each)],
        search_attributes=ATTRIBUTES,
        data_converter=data_converter(),
    ) as environment:
        yield environment.client
