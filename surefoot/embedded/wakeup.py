"""A sleep that a signal ends, without a race: signals arrive as bytes on a pipe.

`time.sleep` goes on after a signal, and a flag set by a handler can be set just before the sleep begins.
"""

import os
import select
import signal

ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Wakeup:
    """Takes over this process's signals. For the main thread of a process that does nothing else."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        os.set_blocking(self._read, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (*ASKED_TO_END, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)
        self._asked = False

    def wait(self, seconds: float) -> bool:
        """Sleep, less if a signal comes or a child ends. True once this process was asked to end."""
        if not self._asked and select.select([self._read], [], [], seconds)[0]:
            self._asked = any(byte in ASKED_TO_END for byte in os.read(self._read, 4096))
        return self._asked
