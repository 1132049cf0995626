"""The headers of Standard Webhooks for one message, signed with the secrets that the worker's environment holds.

Several secrets, separated by spaces, sign side by side, so that receivers can change from one to the next.
Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime

import standardwebhooks

PREFIX = "whsec_"
FEWEST, MOST = 24, 64
"""Bytes of a secret, by the standard."""

MAKE_ONE = "python -c 'import base64, os; print(\"whsec_\" + base64.b64encode(os.urandom(32)).decode())'"


class BadSecret(ValueError):
    """The signing secret is missing or can't be used; the text says which variable to set, never what it holds."""


def secrets_of(
    variable: str, environment: Mapping[str, str], *, remedy: str = f"make one with: {MAKE_ONE}"
) -> list[str]:
    """The secrets in a variable, the base64 of each. Raises `BadSecret`; `remedy` says where one is to be had."""
    found = environment.get(variable, "").split()
    for position, secret in enumerate(found, start=1):
        try:
            size = len(base64.b64decode(secret.removeprefix(PREFIX), validate=True))
        except binascii.Error:
            size = 0
        if not FEWEST <= size <= MOST:
            raise BadSecret(
                f"{variable}: secret {position} is not {PREFIX} and the base64 of {FEWEST} to {MOST} bytes; {remedy}"
            )
    return found


def headers(id: str, at: datetime, body: str, secrets: list[str]) -> dict[str, str]:
    """`at` is the time of this attempt, with a time zone."""
    signatures = [standardwebhooks.Webhook(secret).sign(msg_id=id, timestamp=at, data=body) for secret in secrets]
    return {
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        **({"webhook-signature": " ".join(signatures)} if signatures else {}),
    }
