"""Finding and ending processes that are known by an argument of their command line.

A process id may be reused by the time it is read, so it is never trusted: a process is ours if, at the
moment of looking, its command line carries an argument that only ours have.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from surefoot.embedded.pacing import POLL_SECONDS, Steps

PATIENCE = 15.0
"""Seconds. A worker gives its running steps ten of them; a server takes one or two."""
PR_SET_PDEATHSIG = 1


def find(marker: str) -> list[int]:
    """Ids of the living processes one of whose arguments is exactly `marker`."""
    if sys.platform == "linux":
        folders = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(folder.name) for folder in folders if marker in _arguments(folder)]
    listing = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, timeout=PATIENCE)
    lines = [line.strip().partition(" ") for line in listing.stdout.splitlines()]
    return [int(pid) for pid, _, command in lines if f" {marker} " in f"{command} "]


def _arguments(folder: Path) -> list[str]:
    try:
        return os.fsdecode((folder / "cmdline").read_bytes()).split("\0")
    except OSError:  # it ended while we looked, or belongs to somebody else
        return []


def end(marker: str, *, patience: float = PATIENCE) -> Steps[bool]:
    """Ask the processes with this marker to end, and after `patience` seconds make them. True if there were any."""
    victims = find(marker)
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        for pid in find(marker):
            _send(pid, signal_number)
        waited = 0.0
        while find(marker) and waited < patience:
            yield POLL_SECONDS
            waited += POLL_SECONDS
    return bool(victims)


def end_child(process: "subprocess.Popen[bytes]", *, patience: float = PATIENCE) -> Steps[int]:
    """Ask a child that leads its own process group to end; after `patience` seconds kill the whole group."""
    if process.poll() is None:
        process.terminate()
    waited = 0.0
    while process.poll() is None and waited < patience:
        yield POLL_SECONDS
        waited += POLL_SECONDS
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    return process.wait(timeout=PATIENCE)


def _send(pid: int, signal_number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal_number)


def die_with_parent(parent: int) -> None:
    """For a `preexec_fn`: have the kernel kill this process when the thread that started it ends. Linux only.

    The thread matters: use it only from a main thread.
    """
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value)
