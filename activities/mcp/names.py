"""The names under which models, policies and people know the tools of MCP servers.

A name depends on its server and its tool alone, never on what else a server lists: an approved call must mean the same
tool when it runs as when it was asked, whatever the server or its neighbours have added since.
"""

import hashlib
import re
from collections.abc import Collection

LONGEST = 64
MARK_CHARS = 6


def public_name(prefix: str, tool: str, taken: Collection[str] = ()) -> str:
    """`<server>_<tool>` as every provider accepts it; `taken` are the agent's own tools, which keep their names.

    Where the tool's name had to be changed, a mark made from the original keeps it apart from all others.
    """
    plain = prefix + tool
    legal = re.sub(r"[^a-zA-Z0-9_-]", "_", plain)
    if legal == plain and len(legal) <= LONGEST and legal not in taken:
        return legal
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_CHARS]
    return f"{legal[: LONGEST - MARK_CHARS - 1]}_{mark}"
