"""How often an address may fail: a bucket of tries for each, which fills up again with time.

Kept in memory, for the addresses seen last: whoever has more addresses than that is not held up by counting.
"""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

ADDRESSES = 10_000


class Failures:
    """`tries` failures at once and `per_minute` in the long run, for each address."""

    def __init__(
        self, tries: int = 10, per_minute: float = 10.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries, self._per_second, self._clock = float(tries), per_minute / 60, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until this address may try again; 0 if it may now."""
        left = self._now(_network(address))
        return 0.0 if left >= 1 else (1 - left) / self._per_second

    def count(self, address: str) -> None:
        """This address failed."""
        network = _network(address)
        self._left[network] = (max(0.0, self._now(network) - 1), self._clock())
        self._left.move_to_end(network)
        while len(self._left) > ADDRESSES:
            self._left.popitem(last=False)

    def _now(self, network: str) -> float:
        left, at = self._left.get(network, (self._tries, self._clock()))
        return min(self._tries, left + (self._clock() - at) * self._per_second)


def _network(address: str) -> str:
    """What one customer of a provider has: an IPv4 address, or a /64 of IPv6."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        # All of IPv4 lies in one /64 when it is written so.
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)
