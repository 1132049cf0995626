"""Knowing processes by what stands on their command line."""

import os
import subprocess
import sys

import pytest

from surefoot.embedded import processes
from surefoot.embedded.pacing import drive
from tests.surefoot.embedded.conftest import start

WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
MARKER = f'surefoot.home="/a b/{os.getpid()}/\\udcff"'
"""With our process id: another run of these tests on this machine has processes of its own."""


def waiting(*arguments: str) -> "subprocess.Popen[bytes]":
    """A process with these arguments that is up: for a moment after its start it has none to be seen."""
    process = start(sys.executable, "-c", WAIT, *arguments)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_process_is_found_by_a_whole_argument_only(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    if platform == "linux" and sys.platform != "linux":
        pytest.skip("no /proc here")
    monkeypatch.setattr(sys, "platform", platform)
    ours = waiting(MARKER, "after")
    last = waiting(MARKER)
    longer = waiting(f"{MARKER}x")
    try:
        found = sorted(processes.find(MARKER))
    finally:
        for process in (ours, last, longer):
            process.communicate(timeout=10)

    assert found == sorted([ours.pid, last.pid])
    assert processes.find(MARKER) == []


def test_ending_says_whether_there_was_anything_to_end() -> None:
    victim = waiting(MARKER)

    assert drive(processes.end(MARKER, patience=5)) is True
    assert drive(processes.end(MARKER, patience=5)) is False
    victim.communicate(timeout=10)
    assert victim.returncode == -15
