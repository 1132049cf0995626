"""Temporal's own settings reach the client, over endpoints with and without TLS."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from temporalio.client import Client as Temporal

from activities.connection import FAILURES
from activities.payloads import Codec, Converter
from surefoot.connection import connect
from surefoot.errors import ServerNotReached
from surefoot.settings import SettingsError
from tests.surefoot.endpoints import Doorman, Pair, listening, make_pair, tls_in_front_of

pytestmark = pytest.mark.server


class Pairs(NamedTuple):
    """Authorities, and what they signed for `localhost`."""

    authority: Pair
    stranger: Pair
    server: Pair
    client: Pair
    stranger_client: Pair


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    folder = tmp_path_factory.mktemp("certificates")
    authority, stranger = make_pair(folder, "authority"), make_pair(folder, "stranger")
    return Pairs(
        authority,
        stranger,
        make_pair(folder, "localhost", signed_by=authority),
        make_pair(folder, "client", signed_by=authority),
        make_pair(folder, "stranger-client", signed_by=stranger),
    )


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting and no profile of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("TEMPORAL_", "SUREFOOT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def plain(temporal: Temporal) -> str:
    """The address of a server without TLS."""
    return temporal.service_client.config.target_host


@pytest.fixture
async def secured(plain: str, pairs: Pairs) -> AsyncIterator[str]:
    """The same server with TLS."""
    async with tls_in_front_of(plain, pairs.server) as port:
        yield f"localhost:{port}"


def set_all(monkeypatch: pytest.MonkeyPatch, **variables: object) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"TEMPORAL_{name}", str(value))


async def refused(**overrides: float) -> str:
    with pytest.raises(ServerNotReached) as caught:
        await connect(**overrides)
    return str(caught.value)


async def jobs(client: Temporal) -> int:
    return (await client.count_workflows("WorkflowId = 'nobody'")).count


async def test_address_and_namespace_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    set_all(monkeypatch, ADDRESS=plain, NAMESPACE="elsewhere")

    client = await connect()

    assert client.service_client.config.target_host == plain
    assert client.namespace == "elsewhere"


async def test_a_profile_of_the_named_file_is_used_and_the_environment_goes_before_it(
    monkeypatch: pytest.MonkeyPatch, plain: str, tmp_path: Path
) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text(
        "[profile.default]\naddress = 'unused:7233'\n"
        f"[profile.prod]\naddress = '{plain}'\nnamespace = 'from-the-profile'\n"
    )
    set_all(monkeypatch, CONFIG_FILE=file, PROFILE="prod")
    by_profile = await connect()
    set_all(monkeypatch, NAMESPACE="default")
    by_both = await connect()

    assert by_profile.namespace == "from-the-profile"
    assert by_both.namespace == "default"
    assert await jobs(by_both) == 0


async def test_a_profile_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, PROFILE="prud")

    with pytest.raises(SettingsError, match="prud"):
        await connect()


async def test_a_settings_file_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_all(monkeypatch, CONFIG_FILE=tmp_path / "gone.toml")

    with pytest.raises(SettingsError, match=r"gone\.toml"):
        await connect()


async def test_a_certificate_file_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_all(monkeypatch, ADDRESS="localhost:1", TLS_SERVER_CA_CERT_PATH=tmp_path / "gone.pem")

    with pytest.raises(SettingsError, match=r"gone\.pem"):
        await connect()


async def test_what_the_caller_gives_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    set_all(monkeypatch, ADDRESS="unused:7233", NAMESPACE="elsewhere")

    client = await connect(target_host=plain, namespace="default")

    assert await jobs(client) == 0


async def test_tls_settings_complete_an_address_that_the_caller_gives(
    monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs
) -> None:
    set_all(monkeypatch, TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file)

    assert await jobs(await connect(target_host=secured)) == 0


async def test_the_client_writes_history_with_our_converter_and_codec(
    monkeypatch: pytest.MonkeyPatch, plain: str
) -> None:
    set_all(monkeypatch, ADDRESS=plain)

    converter = (await connect()).data_converter

    assert converter.payload_converter_class is Converter
    assert isinstance(converter.payload_codec, Codec)


async def test_tls_with_the_right_authority_works(monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs) -> None:
    set_all(monkeypatch, ADDRESS=secured, TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file)

    assert await jobs(await connect()) == 0


async def test_tls_with_the_authority_in_the_variable_itself_works(
    monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs
) -> None:
    set_all(monkeypatch, ADDRESS=secured, TLS_SERVER_CA_CERT_DATA=pairs.authority.certificate_file.read_text())

    assert await jobs(await connect()) == 0


@pytest.mark.parametrize("trusted", ["stranger", "the system's"])
async def test_an_authority_that_is_not_trusted_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs, trusted: str
) -> None:
    set_all(monkeypatch, ADDRESS=secured, TLS="true")
    if trusted == "stranger":
        set_all(monkeypatch, TLS_SERVER_CA_CERT_PATH=pairs.stranger.certificate_file)

    text = await refused(wait_seconds=60)

    assert text.startswith(
        f"can't connect to the Temporal server at {secured}: the server's certificate is signed by nobody who is"
        " trusted here: set TEMPORAL_TLS_SERVER_CA_CERT_PATH"
    )


async def test_a_certificate_for_another_name_is_refused_unless_that_name_is_set(
    monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs
) -> None:
    set_all(
        monkeypatch,
        ADDRESS=secured.replace("localhost", "127.0.0.1"),
        TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
    )

    assert "certificate is made out to another name" in await refused()
    set_all(monkeypatch, TLS_SERVER_NAME="localhost")
    assert await jobs(await connect()) == 0


async def test_an_expired_certificate_is_refused(
    monkeypatch: pytest.MonkeyPatch, plain: str, pairs: Pairs, tmp_path: Path
) -> None:
    expired = make_pair(tmp_path, "localhost", signed_by=pairs.authority, valid_for=-timedelta(1))
    async with tls_in_front_of(plain, expired) as port:
        set_all(
            monkeypatch,
            ADDRESS=f"localhost:{port}",
            TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
        )

        assert "certificate is not valid: renew it" in await refused()


async def test_a_client_without_tls_is_refused_by_a_server_with_it(
    monkeypatch: pytest.MonkeyPatch, secured: str
) -> None:
    set_all(monkeypatch, ADDRESS=secured)

    assert "set TEMPORAL_TLS=true" in await refused()


async def test_a_client_with_tls_is_told_that_the_server_has_none(monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    set_all(monkeypatch, ADDRESS=plain, TLS="true")

    assert "speaks without it: set TEMPORAL_TLS=false" in await refused()


async def test_a_client_certificate_opens_a_server_that_asks_for_one(
    monkeypatch: pytest.MonkeyPatch, plain: str, pairs: Pairs
) -> None:
    async with tls_in_front_of(plain, pairs.server, clients_of=pairs.authority) as port:
        set_all(
            monkeypatch,
            ADDRESS=f"localhost:{port}",
            TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
            TLS_CLIENT_CERT_PATH=pairs.client.certificate_file,
            TLS_CLIENT_KEY_PATH=pairs.client.key_file,
        )

        assert await jobs(await connect()) == 0


@pytest.mark.parametrize("shown", ["none", "stranger's"])
async def test_without_a_known_client_certificate_that_server_is_closed(
    monkeypatch: pytest.MonkeyPatch, plain: str, pairs: Pairs, shown: str
) -> None:
    async with tls_in_front_of(plain, pairs.server, clients_of=pairs.authority) as port:
        set_all(
            monkeypatch,
            ADDRESS=f"localhost:{port}",
            TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
        )
        if shown == "stranger's":
            set_all(
                monkeypatch,
                TLS_CLIENT_CERT_PATH=pairs.stranger_client.certificate_file,
                TLS_CLIENT_KEY_PATH=pairs.stranger_client.key_file,
            )

        assert "set TEMPORAL_TLS_CLIENT_CERT_PATH" in await refused()


async def test_a_client_key_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, secured: str, pairs: Pairs) -> None:
    set_all(
        monkeypatch,
        ADDRESS=secured,
        TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
        TLS_CLIENT_CERT_PATH=pairs.client.certificate_file,
        TLS_CLIENT_KEY_PATH=pairs.client.certificate_file,
    )

    assert "TEMPORAL_TLS_CLIENT_KEY_PATH has to name its private key" in await refused()


async def test_an_api_key_travels_as_a_bearer_token_over_tls_and_a_refusal_names_it(
    monkeypatch: pytest.MonkeyPatch, pairs: Pairs
) -> None:
    doorman = Doorman()
    async with listening(doorman.serve) as behind, tls_in_front_of(f"127.0.0.1:{behind}", pairs.server) as port:
        set_all(
            monkeypatch,
            ADDRESS=f"localhost:{port}",
            NAMESPACE="agents.a1b2c",
            API_KEY="secret-key",
            TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file,
            GRPC_META_X_TEAM="blue",
        )

        text = await refused(wait_seconds=60)

    (call,) = doorman.seen
    assert call["authorization"] == "Bearer secret-key"
    assert call["x-team"] == "blue"
    assert call[":path"] == "/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo"
    assert "check TEMPORAL_API_KEY" in text
    assert "secret-key" not in text


async def test_an_api_key_alone_turns_tls_on(monkeypatch: pytest.MonkeyPatch) -> None:
    doorman = Doorman()
    async with listening(doorman.serve) as port:
        set_all(monkeypatch, ADDRESS=f"localhost:{port}", API_KEY="secret-key")

        await refused()

    assert doorman.seen == []


async def test_nobody_at_the_address_names_it_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, ADDRESS="localhost:1")

    assert (await refused()).startswith(
        "can't connect to the Temporal server at localhost:1: start one with `surefoot dev`, or set TEMPORAL_ADDRESS"
    )


async def test_a_server_that_comes_up_later_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, plain: str, pairs: Pairs
) -> None:
    async with tls_in_front_of(plain, pairs.server) as port:
        pass
    set_all(monkeypatch, ADDRESS=f"localhost:{port}", TLS_SERVER_CA_CERT_PATH=pairs.authority.certificate_file)
    waiting = asyncio.create_task(connect(wait_seconds=30))
    await asyncio.wait([waiting], timeout=0.2)
    waits = not waiting.done()

    async with tls_in_front_of(plain, pairs.server, port=port):
        client = await waiting

        assert waits
        assert await jobs(client) == 0


async def test_waiting_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, ADDRESS="localhost:1")
    start = time.monotonic()

    await refused(wait_seconds=0.8)

    assert 0.5 <= time.monotonic() - start < 5


def test_every_failure_without_a_remedy_of_its_own_gets_the_general_one() -> None:
    assert FAILURES[-1].pattern == ""
