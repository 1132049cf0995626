"""A connection to whatever Temporal server the settings name."""

import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.connection import NotConnected, open_client
from surefoot.embedded import wait_until_ready
from surefoot.embedded.joining import join
from surefoot.errors import ServerNotReached
from surefoot.settings import Settings, SettingsError, read_settings


async def connect(*, wait_seconds: float = 0.0, **overrides: Any) -> Client:
    """A Temporal client by Temporal's own settings, with Surefoot's data converter.

    `overrides` are arguments of `temporalio.client.Client.connect`. A server that does not answer yet is tried again
    for `wait_seconds`. Raises `ServerNotReached`, and `SettingsError` for settings that can't be used.
    """
    config = {**(settings_for(overrides).remote or {}), **overrides}
    try:
        return await open_client(config, wait_seconds=wait_seconds)
    except NotConnected as error:
        raise ServerNotReached(str(error)) from error


async def connect_embedded(settings: Settings, address: str, overrides: Mapping[str, Any] | None = None) -> Client:
    """A Temporal client of the embedded server that a lease says to be at `address`. Raises `ServerNotReached`."""
    config = {**settings.connect_config(address), **(overrides or {})}
    return await wait_until_ready(lambda: connect(**config), address=address)


async def find(settings: Settings, overrides: Mapping[str, Any]) -> Client:
    """A Temporal client of the server that the settings name, or else of the embedded one, which has to be up.

    That stays up for as long as the client is in use. Raises `ServerNotReached`.
    """
    if not settings.embedded:
        return await connect(**overrides)
    held = await join(settings)
    try:
        assert held.record is not None, "a lease that was taken has a record"
        client = await connect_embedded(settings, held.record.address, overrides)
    except BaseException:
        held.release()
        raise
    weakref.finalize(client, held.release)
    return client


def queue_of(settings: Settings) -> str:
    """The queue that the app's workers serve. Raises `SettingsError` where that can't be known.

    On the embedded server each app file has a queue of its own: a job on any other one would wait for ever.
    """
    if settings.embedded and not settings.task_queue:
        if settings.app is None:
            raise SettingsError(
                "no app file, and on the embedded server each has a queue of its own: name the one that `surefoot dev`"
                ' runs, Client.connect(app="agents.py"), or set SUREFOOT_APP or SUREFOOT_TASK_QUEUE'
            )
        if not settings.app.is_file():
            raise SettingsError(f"there is no app file {str(settings.app)!r}: name the one that `surefoot dev` runs")
    return settings.queue()


def settings_for(overrides: Mapping[str, Any], app: Path | None = None) -> Settings:
    """The settings; TLS, key or namespace in the environment belong to the address that a caller gives."""
    given = overrides.get("target_host")
    return read_settings({**os.environ, "TEMPORAL_ADDRESS": str(given)} if given else None, app=app)
