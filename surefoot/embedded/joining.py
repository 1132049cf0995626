"""Using the embedded server that runs: for a program that brings no worker, and so has no use for a server of its own.

Its lease keeps a background server up; the one of `surefoot dev` ends with that all the same.
"""

from surefoot.embedded import locks
from surefoot.embedded.errors import NoneRuns
from surefoot.embedded.home import Home, shown
from surefoot.embedded.leasing import ServerLease
from surefoot.embedded.pacing import drive_async
from surefoot.settings import Settings


async def join(settings: Settings) -> ServerLease:
    """A lease of the server that runs in this home. Raises `NoneRuns`, and any other `EmbeddedServerError`."""
    home = Home(settings.home)
    if not locks.is_held(home.supervisor):
        raise NoneRuns(
            f"No embedded server is up in {shown(home.path)}: start one with `surefoot dev --app FILE`. If one is up"
            " elsewhere, set SUREFOOT_HOME to its folder; for any other Temporal server set TEMPORAL_ADDRESS."
        )
    held = ServerLease(home, settings.idle_seconds)
    try:
        await drive_async(held.take())
    except BaseException:
        held.release()
        raise
    return held
