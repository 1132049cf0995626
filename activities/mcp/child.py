"""Starts an MCP server in its own place, so that the kernel ends it with the worker, also when that is killed.

Run as a script, by `wire.py`: a function between fork and exec would deadlock in a process with as many threads as a
worker has. The thread that started it must live as long as the worker: the kernel looks at that thread.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_STARTED = 127


def main() -> None:
    """`child.py <the worker's process id> <command> …`"""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(NOT_STARTED)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} can't be started: {error.strerror}\n")
        sys.exit(NOT_STARTED)


if __name__ == "__main__":
    main()
