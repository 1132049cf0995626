"""`workers/….json`: which app, in which version, a worker serves, so that one with old code can be replaced.

Only the app file itself is compared, not what it imports.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.embedded.home import replace_text


@dataclass(frozen=True)
class AppVersion:
    """An app file as it was when somebody looked. The hash decides; time and size only spare reading the file."""

    path: str
    mtime_ns: int
    size: int
    sha256: str


@dataclass(frozen=True)
class WorkerRecord:
    """`lasting`: it belongs to a command that stays until somebody ends it, and not to one that follows a job."""

    pid: int
    queue: str
    app: AppVersion
    log: str
    started: str
    lasting: bool = False

    def serves(self, app: Path) -> bool:
        """Is the app file still what this worker loaded?"""
        if self.app.path != os.path.realpath(app):
            return False
        try:
            now = os.stat(app)
            same = (now.st_mtime_ns, now.st_size) == (self.app.mtime_ns, self.app.size)
            return same or app_version(app).sha256 == self.app.sha256
        except OSError:  # removed: there is nothing newer to load
            return True


def app_version(app: Path) -> AppVersion:
    stat = os.stat(app)
    return AppVersion(
        path=os.path.realpath(app),
        mtime_ns=stat.st_mtime_ns,
        size=stat.st_size,
        sha256=hashlib.sha256(app.read_bytes()).hexdigest(),
    )


def write(path: Path, record: WorkerRecord) -> None:
    replace_text(path, json.dumps(asdict(record), indent=2) + "\n")


def read(path: Path) -> WorkerRecord | None:
    """The record, or None if there is none that can be read."""
    try:
        values = json.loads(path.read_text())
        return WorkerRecord(**{**values, "app": AppVersion(**values["app"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
