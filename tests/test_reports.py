"""Half a surrogate pair in a test's output or failure is reported, and ends no run."""

import subprocess
import sys
from pathlib import Path

from tests.reports import printable

SUITE = r"""
import pytest

@pytest.mark.parametrize("text", ["\ud800"])
def test_prints(text):
    print("printed", text)
    assert text == "\udfff", text
"""


def test_only_what_utf_8_cannot_hold_is_spelled_out() -> None:
    data = {"sections": [("log", "ä \ud800")], "longrepr": {"\udfff": None}, "duration": 0.5, "keys": ("a", 1)}

    assert printable(data) == {
        "sections": [("log", r"ä \ud800")],
        "longrepr": {r"\udfff": None},
        "duration": 0.5,
        "keys": ("a", 1),
    }


def test_a_run_in_several_processes_reports_such_a_failure_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_report_to_serializable\n")
    (tmp_path / "test_it.py").write_text(SUITE + "\ndef test_another():\n    pass\n")

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        timeout=60,
    )

    assert ended.returncode == 1
    assert b"1 failed, 1 passed" in ended.stdout
    assert rb"AssertionError: \ud800" in ended.stdout
