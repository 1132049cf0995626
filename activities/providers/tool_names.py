"""Names of tools as APIs accept them in a history, where a model may have called something that is no legal name.

Models invent names, and some leave their own markup in them ("search<|channel|>commentary"); sent back as it is, such
a name gets every later request of the job rejected.
"""

import re
from collections.abc import Collection

UNKNOWN = "unknown"

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def wire_name(name: str, declared: Collection[str]) -> str:
    """The name itself if it is a declared tool's or legal everywhere, else with what is illegal replaced."""
    if name in declared:
        return name
    return _ILLEGAL.sub("_", name)[:64] or UNKNOWN
