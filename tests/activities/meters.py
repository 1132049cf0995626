"""Meters of rates for workers without a server."""

from typing import cast

from temporalio.client import Client

from activities.rates.meter import RateMeter


def unused_meter() -> RateMeter:
    """For agents that have no rate: nothing is ever reported."""
    return RateMeter(cast(Client, None), "no queue")
