"""A connection to whatever Temporal server the settings name."""

from typing import Any

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError

from activities.payloads import data_converter
from surefoot.errors import ServerNotReached


async def connect(**overrides: Any) -> Client:
    """A Temporal client by Temporal's own settings, with Surefoot's data converter. Raises `ServerNotReached`."""
    config: dict[str, Any] = {"target_host": "localhost:7233", **ClientConfig.load_client_connect_config()} | overrides
    try:
        return await Client.connect(**config, data_converter=data_converter())
    except (RuntimeError, RPCError) as error:
        raise ServerNotReached(
            f"no Temporal server answers at {config['target_host']}: {error}. Start one with `surefoot dev`, or set"
            " TEMPORAL_ADDRESS to where yours is"
        ) from error
