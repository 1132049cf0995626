"""Starting a program of this package as a process of its own, and becoming one that nobody waits for.

Children find the same modules as we do, but never one in the folder they happen to run in (`-P`): a
person's `types.py` or `worker.py` must not take the place of ours.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from surefoot.embedded.locks import unusable
from surefoot.embedded.pacing import POLL_SECONDS, Steps

LAUNCHED = 0
TAKEN = 3
"""Exit code of a program whose place another process has."""


def start(
    module: str, *arguments: str, log: Path, environment: dict[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start `python -m module` in a session of its own, with its output appended to `log`. Raises HomeUnusable."""
    with ExitStack() as opened:
        try:
            output = opened.enter_context(open(log, "ab"))
        except OSError as problem:
            raise unusable(log, problem) from problem
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )


def placed(process: "subprocess.Popen[bytes]", seconds: float) -> Steps[int]:
    """Wait until a program has detached itself (LAUNCHED) or ended otherwise; its exit code.

    One that takes too long, or that nobody waits for any more, is killed. If it detached meanwhile, that
    does it no harm.
    """
    deadline = time.monotonic() + seconds
    try:
        while process.poll() is None and time.monotonic() < deadline:
            yield POLL_SECONDS
    finally:
        process.kill()
        code = process.wait()
    return code


def detach(announce: Callable[[int], None]) -> None:
    """Go on as a grandchild: whoever started us sees us end with LAUNCHED, and locks that we hold stay held.

    `announce` is told the new process id before that, so that nobody reads the old one. Before any thread is started.
    """
    pid = os.fork()
    if pid > 0:
        announce(pid)
        os._exit(LAUNCHED)
    os.setsid()
