"""A worker's log goes on, and fails no step, whatever tools do to the process's own streams."""

import subprocess
import sys

import pytest

PRELUDE = """
import logging, os, sys, warnings
import worker
worker.log_to_stderr()
log = logging.getLogger("a.tool")
"""


def said(*lines: str) -> list[str]:
    """The messages in the log of a process that runs these lines."""
    code = PRELUDE + "\n".join([*lines, "os._exit(0)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [line.partition("a.tool: ")[2] or line for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    "harm",
    [
        "sys.stderr.close()",
        "sys.stderr = None",
        "sys.stderr.detach()",
        "os.close(2)",
        "sys.stderr = open('/dev/full', 'w')",
    ],
)
def test_the_log_goes_on_after_a_tool_took_stderr_away(harm: str) -> None:
    assert said("log.warning('before')", harm, "log.warning('after')") == ["before", "after"]


def test_a_handler_of_the_apps_own_that_can_not_write_raises_nothing() -> None:
    own = "log.addHandler(logging.StreamHandler(sys.stderr))"

    assert said(own, "sys.stderr.close()", "log.warning('after')") == ["after"]


def test_a_warning_is_logged_and_raises_nothing_on_a_closed_stderr() -> None:
    (first, *_) = said("sys.stderr.close()", "warnings.warn('odd', stacklevel=1)")

    assert first.endswith("UserWarning: odd")


def test_a_process_without_stderr_logs_nowhere() -> None:
    assert (
        said("sys.stderr = None", "logging.root.handlers.clear()", "worker.log_to_stderr()", "log.warning('x')") == []
    )
