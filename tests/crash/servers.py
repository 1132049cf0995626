"""A Temporal server of one test's own, with a database file, that can be killed and started again on the same port."""

import asyncio
import contextlib
import socket
import sys
from pathlib import Path

from temporalio.client import Client as Temporal

from activities.payloads import data_converter
from surefoot.embedded.server import SEARCH_ATTRIBUTES
from tests.waiting import until

TEMPORAL = Path(sys.executable).with_name("temporal")
OPTIONS = [
    "--headless", "--log-level", "error",
    "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full",
    "--dynamic-config-value", 'history.timerProcessorMaxTimeShift="10ms"',
    "--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000",
    *(option for named in SEARCH_ATTRIBUTES.items() for option in ("--search-attribute", "=".join(named))),
]  # fmt: skip


class Server:
    """Not running until `start`; everything is in `file`."""

    def __init__(self, file: Path) -> None:
        self.file, self.port = file, _free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            str(TEMPORAL), "server", "start-dev", "--port", str(self.port), "--db-filename", str(self.file), *OPTIONS,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await until(self._answers, seconds=30)

    async def _answers(self) -> bool:
        with contextlib.suppress(RuntimeError):
            return await (await self.connect()).service_client.check_health()
        return False

    async def connect(self) -> Temporal:
        return await Temporal.connect(self.address, data_converter=data_converter())

    async def kill(self) -> None:
        """kill -9, once."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
