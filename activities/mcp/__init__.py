"""Tools that MCP servers bring: how servers are declared, reached, listed and called.

Only `session.py` and `wire.py` import the `mcp` package, which is an extra, and takes a second to load.
"""
