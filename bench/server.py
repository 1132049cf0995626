"""A Temporal server for a few measurements: by Surefoot's own command line, or by it without what is tuned there.

Each has a new database file and a process of its own, which ends with the block (on Linux also if this process is
killed).
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from surefoot.embedded.command import ask, clean_environment, find_command
from surefoot.embedded.home import Home
from surefoot.embedded.processes import die_with_parent
from surefoot.embedded.server import SEARCH_ATTRIBUTES, free_ports, server_command

READY_SECONDS = 60.0
TUNING = ("--sqlite-pragma", "--dynamic-config-value")


@dataclass(frozen=True)
class Running:
    """Where a server answers, and its process id."""

    address: str
    process: int


@contextmanager
def running(*, tuned: bool = True) -> Iterator[Running]:
    """A server that is ready. Not `tuned`: with `--db-filename` alone, beside what jobs can't be without."""
    command, parent = find_command(), os.getpid()
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        (port,) = free_ports([None])
        line = server_command(command, Home(Path(folder)), port, None)
        with open(Path(folder, "server.log"), "wb") as log:
            process = subprocess.Popen(
                line if tuned else _stock(line),
                cwd=folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: die_with_parent(parent),
            )
        try:
            address = f"127.0.0.1:{port}"
            _await_ready(command, address, process)
            yield Running(address, process.pid)
        finally:
            process.terminate()
            process.wait()


def _stock(line: list[str]) -> list[str]:
    """The command line without its tuned options and their values."""
    kept = zip(["", *line], line, strict=False)
    return [part for before, part in kept if part not in TUNING and before not in TUNING]


def _await_ready(command: Path, address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        attributes = ask(command, address, "operator", "search-attribute", "list")
        if attributes is not None and all(name in attributes for name in SEARCH_ATTRIBUTES):
            return
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with exit code {process.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the server at {address} was not ready after {READY_SECONDS:g} s")
        time.sleep(0.1)
