"""MCP servers for tests, written with the official package: `python -m`-less scripts, run by stdio or over HTTP."""
