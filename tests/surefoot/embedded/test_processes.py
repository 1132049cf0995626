"""Knowing processes by what stands on their command line."""

import sys

import pytest

from surefoot.embedded import processes
from surefoot.embedded.pacing import drive
from tests.surefoot.embedded.conftest import start

WAIT = "import sys; sys.stdin.read()"
MARKER = 'surefoot.home="/a b/\\udcff"'


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_process_is_found_by_a_whole_argument_only(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    if platform == "linux" and sys.platform != "linux":
        pytest.skip("no /proc here")
    monkeypatch.setattr(sys, "platform", platform)
    ours = start(sys.executable, "-c", WAIT, MARKER, "after")
    last = start(sys.executable, "-c", WAIT, MARKER)
    longer = start(sys.executable, "-c", WAIT, f"{MARKER}x")
    try:
        found = sorted(processes.find(MARKER))
    finally:
        for process in (ours, last, longer):
            process.communicate(timeout=10)

    assert found == sorted([ours.pid, last.pid])
    assert processes.find(MARKER) == []


def test_ending_says_whether_there_was_anything_to_end() -> None:
    victim = start(sys.executable, "-c", WAIT, MARKER)

    assert drive(processes.end(MARKER, patience=5)) is True
    assert drive(processes.end(MARKER, patience=5)) is False
    victim.communicate(timeout=10)
    assert victim.returncode == -15
