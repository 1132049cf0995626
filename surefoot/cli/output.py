"""stdout and stderr as every command uses them: stdout holds the answer or one JSON document, stderr all else.

Texts of models, tools and strangers pass through here, so nothing in them may act on a terminal: what could is spelled
out (`activities/escaping.py`). Imports nothing heavy, since `surefoot --help` comes by.
"""

import contextlib
import json
import os
import signal
import sys
from typing import IO, NoReturn

import click

from activities.escaping import escaped, escaped_json


def prepare() -> None:
    """Make both streams fit for any text, also if one is closed or knows few characters."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - for the whole run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, newline: bool = True) -> None:
    """A word to the person at the terminal."""
    with contextlib.suppress(OSError):  # nobody listens any more; what is done is done all the same
        click.echo(escaped(text), err=True, nl=newline)


def write(text: str) -> None:
    """To stdout, as it is. A reader that left (`| head -1`) has seen enough: the command's own exit code stays."""
    try:
        sys.stdout.write(f"{text}\n")  # click.echo would leave out what looks like a colour
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def write_answer(text: str) -> None:
    """Verbatim into a file or a pipe; harmless on a terminal."""
    write(escaped(text) if sys.stdout.isatty() else text)


def write_json(text: str) -> None:
    """A JSON text, spelled so that it stays JSON in any encoding and does nothing to a terminal."""
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(json.loads(text), indent=2)
    write(escaped_json(text))


def discard(stream: IO[str]) -> None:
    """Let whatever else is written to this stream vanish."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def wants_json() -> bool:
    """Was `--json` asked for? Looked up in the raw arguments, since it has to be known when those are wrong too."""
    options = sys.argv[1:]
    return "--json" in options[: options.index("--")] if "--" in options else "--json" in options


def fail(text: str, kind: str, code: int, **details: object) -> int:
    """Say what went wrong, also as the one JSON document if that was asked for. The code that was given."""
    say(f"surefoot: {text}")
    if wants_json():
        with contextlib.suppress(OSError):  # it may be stdout itself that failed
            write_json(json.dumps({"error": text, "kind": kind, "exit_code": code, **details}, indent=2))
    return code


def leave(code: int) -> NoReturn:
    """End the process without Python's own farewell.

    The Temporal SDK's threads may reach for the interpreter while it is taken down, which kills about every third
    process with "Fatal Python error: PyGILState_Release" (temporalio/sdk-python#300).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
