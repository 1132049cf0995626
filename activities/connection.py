"""How a process reaches the Temporal server: with our converter, and with advice when it can't.

The SDK's text is all there is to tell one failure from another, so `FAILURES` reads it: every entry stands for a text
that the tests provoke with a real endpoint.
"""

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from temporalio.client import Client
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import GrpcCompression, RPCError

from activities.payloads import data_converter

DEFAULT_ADDRESS = "localhost:7233"
RETRY_SECONDS = 0.5


def logged_runtime(core_level: Literal["WARN", "ERROR"]) -> Runtime:
    """The SDK's core with its own log in Python's logging: its default is stdout, which belongs to answers."""
    forward = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    filters = TelemetryFilter(core_level=core_level, other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=filters, forwarding=forward)))


class NotConnected(Exception):
    """No connection to the server; the text says what was seen and what to do."""


class Failure(NamedTuple):
    """A kind of failed connection: what its text looks like, what to do, and whether waiting can help."""

    pattern: str
    advice: str
    passes: bool


FAILURES = (
    Failure(
        r"InvalidCertificate\(UnknownIssuer",
        "the server's certificate is signed by nobody who is trusted here: set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the"
        " certificate of its authority",
        False,
    ),
    Failure(
        r"InvalidCertificate\(NotValidForName",
        "the server's certificate is made out to another name: connect by that name, or set TEMPORAL_TLS_SERVER_NAME",
        False,
    ),
    Failure(
        r"InvalidCertificate",
        "the server's certificate is not valid: renew it, or check the clocks of both machines",
        False,
    ),
    Failure(
        r"InvalidContentType",
        "the settings ask for TLS and the server speaks without it: set TEMPORAL_TLS=false, or use its TLS port",
        False,
    ),
    Failure(
        r"PrivateKeyParseError",
        "the client's key can't be read: TEMPORAL_TLS_CLIENT_KEY_PATH has to name its private key in PEM, without"
        " a password",
        False,
    ),
    Failure(
        r"code: (Unauthenticated|PermissionDenied)",
        "the server does not accept who calls: check TEMPORAL_API_KEY and that it may use TEMPORAL_NAMESPACE",
        False,
    ),
    Failure(
        r"after connection.*tonic::transport::Error",
        "it hung up on the first call. A server with TLS does so to a client without it (set TEMPORAL_TLS=true) and to"
        " one whose certificate it does not know (set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH)",
        True,
    ),
    Failure(
        "",
        "start one with `surefoot dev`, or set TEMPORAL_ADDRESS to where yours is",
        True,
    ),
)


async def open_client(config: Mapping[str, Any], *, wait_seconds: float = 0.0) -> Client:
    """A Temporal client by arguments of `temporalio.client.Client.connect`.

    A server that does not answer yet is tried again for `wait_seconds`; what waiting can't heal, such as a refused
    certificate, fails at once. Raises `NotConnected`.
    """
    # Payloads come compressed from the codec: gzip on top saves little, and takes a tenth of both sides' time.
    arguments = {"target_host": DEFAULT_ADDRESS, "grpc_compression": GrpcCompression.NONE, **config}
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return await Client.connect(**arguments, data_converter=data_converter())
        except (RuntimeError, RPCError) as error:
            failure = _failure(str(error))
            if not failure.passes or time.monotonic() + RETRY_SECONDS > deadline:
                raise NotConnected(
                    f"can't connect to the Temporal server at {arguments['target_host']}: {failure.advice} ({error})"
                ) from error
        await asyncio.sleep(RETRY_SECONDS)


def _failure(text: str) -> Failure:
    return next(failure for failure in FAILURES if re.search(failure.pattern, text, re.DOTALL))
