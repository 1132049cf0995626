"""A connection to whatever Temporal server the settings name."""

import os
from collections.abc import Mapping
from typing import Any

from temporalio.client import Client

from activities.connection import NotConnected, open_client
from surefoot.errors import ServerNotReached
from surefoot.settings import read_settings


async def connect(*, wait_seconds: float = 0.0, **overrides: Any) -> Client:
    """A Temporal client by Temporal's own settings, with Surefoot's data converter.

    `overrides` are arguments of `temporalio.client.Client.connect`. A server that does not answer yet is tried again
    for `wait_seconds`. Raises `ServerNotReached`, and `SettingsError` for settings that can't be used.
    """
    try:
        return await open_client(_config(overrides), wait_seconds=wait_seconds)
    except NotConnected as error:
        raise ServerNotReached(str(error)) from error


def _config(overrides: Mapping[str, Any]) -> dict[str, Any]:
    environ = dict(os.environ)
    if overrides.get("target_host"):
        # TLS, key or namespace from the environment belong to an address that the caller gives.
        environ["TEMPORAL_ADDRESS"] = str(overrides["target_host"])
    return {**(read_settings(environ).remote or {}), **overrides}
