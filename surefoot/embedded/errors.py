"""What can go wrong with the embedded server and its workers: a branch of the tree in `surefoot.errors`.

SurefootError
├── ServerNotReached
│   └── EmbeddedServerError   the embedded server could not be had
│       ├── HomeUnusable      SUREFOOT_HOME can't hold what it must
│       ├── HomeInUse         another `surefoot dev` serves this home
│       ├── NoneRuns          a server was looked for that should have been running
│       └── CommandMissing    there is no `temporal` command
└── WorkerFailed              a worker process ended before it should
"""

from surefoot.errors import ServerNotReached, SurefootError


class EmbeddedServerError(ServerNotReached):
    """The embedded server could not be started, or did not stay up."""


class HomeUnusable(EmbeddedServerError):
    """SUREFOOT_HOME can't be created, written or locked."""


class HomeInUse(EmbeddedServerError):
    """Another foreground server has this home. `pid` is its process."""

    def __init__(self, message: str, pid: int) -> None:
        super().__init__(message)
        self.pid = pid


class NoneRuns(EmbeddedServerError):
    """No embedded server runs in this home, and whoever looked for one starts none."""


class CommandMissing(EmbeddedServerError):
    """The `temporal` command is not installed."""


class WorkerFailed(SurefootError):
    """A worker process ended before it should."""
