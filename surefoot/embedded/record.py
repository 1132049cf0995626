"""`server.json`: what the supervisor says about its server, for people and for other processes.

It is advice only. Whether a supervisor lives is told by its lock, never by a process id that is written here.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from surefoot.embedded.home import replace_text

State = Literal["starting", "ready", "restarting", "stopping", "stopped", "failed"]


@dataclass(frozen=True)
class ServerRecord:
    """`owner` is the `surefoot dev` that the supervisor serves, None for a background one."""

    state: State
    supervisor: int
    owner: int | None = None
    server: int | None = None
    port: int | None = None
    ui_port: int | None = None
    version: str = ""
    started: str = ""
    error: str | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def ui(self) -> str | None:
        return f"http://127.0.0.1:{self.ui_port}" if self.ui_port else None


def write(path: Path, record: ServerRecord) -> None:
    replace_text(path, json.dumps({"address": record.address, **asdict(record)}, indent=2) + "\n")


def read(path: Path) -> ServerRecord | None:
    """The record, or None if there is none that can be read."""
    try:
        values = json.loads(path.read_text())
        known = {field.name for field in fields(ServerRecord)}
        record = ServerRecord(**{name: value for name, value in values.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return record if _plausible(record) else None


def _plausible(record: ServerRecord) -> bool:
    numbers = (record.supervisor, record.owner, record.server, record.port, record.ui_port)
    return record.state in get_args(State) and all(number is None or type(number) is int for number in numbers)
