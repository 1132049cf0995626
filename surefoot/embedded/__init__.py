"""The Temporal server that Surefoot starts by itself, and the processes around it.

One rule explains the package: whoever needs the server holds a lease (a shared lock on a file in
SUREFOOT_HOME), and while any lease is held there is a server. A supervisor process owns the server and
ends it when nobody held a lease for a while. Locks die with their process, so nothing here trusts a
process id or a port that a file mentions.

Modules are imported by what they do: `leasing`, `workers`, `reach`, `errors`.
"""

from surefoot.embedded.errors import EmbeddedServerError, WorkerFailed
from surefoot.embedded.leasing import Lease, lease, serve_foreground
from surefoot.embedded.reach import wait_until_ready

__all__ = [
    "EmbeddedServerError",
    "Lease",
    "WorkerFailed",
    "lease",
    "serve_foreground",
    "wait_until_ready",
]
