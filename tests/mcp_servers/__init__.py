"""An MCP server for tests, written with the official package: a script for stdio, an application for HTTP."""
