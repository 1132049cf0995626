"""What a server needs of the worker's environment: read when it is reached, and kept out of everything that is written.

A server may repeat what it was given, in its log, an error or a result: whatever comes from it passes through `hide`.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from activities.mcp.server import Env, McpServer

STRANGERS = ("httpx2", "client", "mcp.client.stdio", "mcp.client.streamable_http", "mcp.shared.jsonrpc_dispatcher")
"""Loggers of packages that write addresses, and messages which they could not read."""

SHORTEST = 6
"""Shorter values are no secrets: hiding them would garble ordinary texts."""


class MissingSecret(LookupError):
    """The worker's environment lacks what a server needs."""


class Secrets:
    """The values for one server, as the environment has them now. Raises `MissingSecret`, naming all that lack."""

    def __init__(self, server: McpServer, environment: Mapping[str, str] = os.environ) -> None:
        wanted = server.secrets()
        if missing := sorted({value.name for value in wanted if value.read(environment) is None}):
            names = " and ".join(missing)
            are = "is" if len(missing) == 1 else "are"
            raise MissingSecret(f"{names} {are} not set where the worker runs: export {missing[0]}=… there")
        self._environment = environment
        self._hidden = {environment[value.name]: value.name for value in wanted}

    def value(self, given: str | Env | None) -> str:
        return (given.read(self._environment) or "") if isinstance(given, Env) else given or ""

    def values(self, given: Mapping[str, str | Env]) -> dict[str, str]:
        return {name: self.value(value) for name, value in given.items()}

    def hide(self, text: str) -> str:
        """The text with each secret replaced by its name."""
        for secret, name in self._hidden.items():
            if len(secret) >= SHORTEST:
                text = text.replace(secret, f"({name})")
        return text

    @contextmanager
    def hidden_in_logs(self) -> Iterator[None]:
        """While a connection is open, also what other packages log of it passes through `hide`."""
        loggers = [logging.getLogger(name) for name in STRANGERS]
        for logger in loggers:
            logger.addFilter(self._hide_in_record)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeFilter(self._hide_in_record)

    def _hide_in_record(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.hide(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = self.hide(logging.Formatter().formatException(record.exc_info))
        return True
