"""Starting a program of this package as a process of its own, and becoming one that nobody waits for.

Children find the same modules as we do, but never one in the folder they happen to run in (`-P`): a
person's `types.py` or `worker.py` must not take the place of ours.
"""

import os
import subprocess
import sys
from pathlib import Path

LAUNCHED = 0
TAKEN = 3
"""Exit code of a program whose place another process has."""


def start(
    module: str, *arguments: str, log: Path, environment: dict[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start `python -m module` in a session of its own, with its output appended to `log`."""
    with open(log, "ab") as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )


def detach() -> None:
    """Go on as a grandchild: whoever started us sees us end with LAUNCHED, and locks that we hold stay held.

    Before any thread is started.
    """
    if os.fork() > 0:
        os._exit(LAUNCHED)
    os.setsid()
