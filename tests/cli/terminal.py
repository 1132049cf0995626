"""A pseudo-terminal with a command on it: what is typed arrives as at a real one, Ctrl-C and Ctrl-D included."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

CTRL_C, CTRL_D = "\x03", "\x04"
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# In the child, since a function to be run between fork and exec is not safe in a process with threads.
LAUNCHER = """
import fcntl, os, struct, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
if sys.argv[2]:
    os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT), 1)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Terminal:
    """A command at a terminal of its own; its stdout goes to the file `out` if one is given, else there too."""

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str], columns: int, out: Path | None = None
    ) -> None:
        self._ours, theirs = pty.openpty()
        self._modes = termios.tcgetattr(theirs)
        self._theirs = theirs
        self._raw = ""
        self._seen = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(columns), str(out or ""), *command],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        """All that was shown so far, without colours."""
        return ANSI.sub("", self._raw).replace("\r\n", "\n")

    @property
    def raw(self) -> str:
        return self._raw

    def expect(self, text: str, *, seconds: float = 30.0) -> str:
        """Wait until `text` is shown after what was expected before; all that was shown up to it."""
        end = time.monotonic() + seconds
        while (found := self.text.find(text, self._seen)) < 0:
            assert time.monotonic() < end, f"{text!r} is not shown after {seconds:g} s, but: {self.text[self._seen :]}"
            alive = self.process.poll() is None
            if not self._read(0.05) and not alive:
                raise AssertionError(f"{text!r} was not shown, the command ended after: {self.text[self._seen :]}")
        start, self._seen = self._seen, found + len(text)
        return self.text[start : self._seen]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self, *, seconds: float = 30.0) -> int:
        """Wait for the command's end; its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"still running after {seconds:g} s: {self.text[self._seen :]}"
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    def sane(self) -> bool:
        """Are the terminal's modes what they were?"""
        return termios.tcgetattr(self._theirs) == self._modes

    def hang_up(self) -> None:
        """Close the terminal's window."""
        os.close(self._theirs)
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=10)
        if self._ours >= 0:
            self.hang_up()

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self._raw += os.read(self._ours, 65_536).decode(errors="replace")
        return True
