"""An application over a client of the real server, asked in this process as a browser or a program would."""

from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import ASGITransport, AsyncClient

from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app

Browse = Callable[..., AsyncClient]
HERE = "http://127.0.0.1:8230"


def asking(client: Client, access: Access, *, address: str = "203.0.113.5", **more: Any) -> AsyncClient:
    """Somebody at `address` who asks the application."""
    transport = ASGITransport(create_app(client, access), client=(address, 40_000))
    return AsyncClient(transport=transport, base_url=HERE, **more)


@pytest.fixture
def nobody() -> Client:
    """A client for tests in which no job is reached for."""
    return Client.__new__(Client)
