"""Waiting for a server to answer."""

import asyncio
import socket
import time

import pytest
from temporalio.client import Client

from surefoot.embedded import wait_until_ready
from surefoot.errors import ServerNotReached


async def test_the_first_success_is_returned() -> None:
    tries = 0

    async def connect() -> str:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise RuntimeError("Failed client connect")
        return "client"

    assert await wait_until_ready(connect, address="a:1", seconds=5) == "client"
    assert tries == 4


async def test_nobody_listening_ends_in_time_with_the_address_and_the_remedy() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(ServerNotReached) as caught:
            await wait_until_ready(lambda: Client.connect(address), address=address, seconds=0.4)

    assert time.monotonic() - began < 2
    assert str(caught.value).startswith(f"No Temporal server answered at {address} within 0.4 s: ")
    assert "Start it, or correct TEMPORAL_ADDRESS" in str(caught.value)


async def test_a_connect_that_hangs_is_bounded_too() -> None:
    began = time.monotonic()
    with pytest.raises(ServerNotReached, match="no answer"):
        await wait_until_ready(lambda: asyncio.sleep(60), address="a:1", seconds=0.3)

    assert time.monotonic() - began < 2


async def test_an_answer_that_waiting_will_not_change_is_final() -> None:
    tries = 0

    async def connect() -> None:
        nonlocal tries
        tries += 1
        raise RuntimeError("Failed client connect: InvalidCertificate(UnknownIssuer)")

    with pytest.raises(ServerNotReached, match=r"a:1 refused the connection.*TEMPORAL_TLS"):
        await wait_until_ready(connect, address="a:1", seconds=5)

    assert tries == 1


async def test_a_fault_of_our_own_is_not_taken_for_a_missing_server() -> None:
    async def connect() -> None:
        raise TypeError("connect() got an unexpected keyword")

    with pytest.raises(TypeError):
        await wait_until_ready(connect, address="a:1", seconds=5)
