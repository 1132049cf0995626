"""Surefoot as an MCP server: another program's model starts jobs, follows them, and reads what came of them.

Only this folder's `server.py` imports the `mcp` package, which is an extra.
"""
