"""Questions on the terminal.

Lines are read by the event loop and never in a thread: a thread that waits for a key can't be called off when
somebody else decides meanwhile, and it would swallow the next line that the person types to the shell.
"""

import asyncio
import os
import sys

from surefoot.cli.output import say


class EndOfInput(Exception):
    """Ctrl-D, or the terminal has gone: a way out, never an answer."""


def possible() -> bool:
    """Is there a person to ask? Not on Windows, whose consoles can't be waited for like this."""
    return sys.stdin.isatty() and sys.stderr.isatty() and sys.platform != "win32"


def forget_typed() -> None:
    """Drop what was typed before the question was seen: it can't have been meant as its answer."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def choose(question: str, letters: str) -> str:
    """The one of `letters` that the answer begins with; asked again until it is one."""
    while True:
        answer = (await line(f"{question} ")).strip().lower()[:1]
        if answer and answer in letters:
            return answer
        say(f"please type one of: {', '.join(letters)}")


async def line(question: str) -> str:
    """One line. Raises `EndOfInput`."""
    say(question, newline=False)
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    typed = bytearray()
    whole = asyncio.Event()

    def read() -> None:
        try:
            chunk = os.read(descriptor, 65_536)
        except OSError:  # the terminal was closed
            chunk = b""
        typed.extend(chunk)
        if not chunk or chunk.endswith(b"\n"):
            loop.remove_reader(descriptor)
            whole.set()

    loop.add_reader(descriptor, read)
    try:
        await whole.wait()
    finally:
        loop.remove_reader(descriptor)
    if not typed.endswith(b"\n"):
        raise EndOfInput
    return typed.decode(sys.stdin.encoding, "replace").rstrip("\r\n")
