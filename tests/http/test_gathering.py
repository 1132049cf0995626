"""Who may call, by the settings: what is asked, by which names the server is called, and how cookies are sent."""

from pathlib import Path

import pytest

from surefoot.http import tokens
from surefoot.http.gathering import access_for, is_loopback
from surefoot.http.oidc import Oidc
from surefoot.settings import SettingsError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
OIDC = {"SUREFOOT_OIDC_ISSUER": "https://id.example", "SUREFOOT_OIDC_AUDIENCE": "surefoot"}


@pytest.fixture
def listed(tmp_path: Path) -> dict[str, str]:
    """Settings with a token file."""
    file = tmp_path / "tokens.toml"
    file.write_text(tokens.line("ana", ["view"], tokens.fresh()))
    return {"SUREFOOT_TOKENS": str(file)}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_on_this_machine_alone_nobody_need_be_asked(host: str) -> None:
    access = access_for(host, {})

    assert is_loopback(host)
    assert access.everybody is not None
    assert access.everybody.may("admin")
    assert access.hosts is not None
    assert access.hosts == LOOPBACK | ({"127.8.8.8"} & {host})


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", "127.0.0.1.nip.io", ""]
)
def test_beyond_it_somebody_must_be(host: str) -> None:
    with pytest.raises(SettingsError, match="SUREFOOT_TOKENS or SUREFOOT_OIDC_ISSUER"):
        access_for(host, {})


def test_a_proxy_is_no_way_to_where_nobody_is_asked() -> None:
    access = access_for("127.0.0.1", {"SUREFOOT_CONSOLE_URL": "https://agents.example.com"})

    assert (access.hosts, access.public_url) == (LOOPBACK, None)


def test_with_tokens_everybody_is_asked_on_this_machine_too(listed: dict[str, str]) -> None:
    here, everywhere = access_for("127.0.0.1", listed), access_for("0.0.0.0", listed)

    assert (here.everybody, everywhere.everybody) == (None, None)
    assert (here.sessions.secure, everywhere.sessions.secure) == (False, True)
    assert (here.hosts, everywhere.hosts) == (LOOPBACK, None)


def test_an_issuer_will_do_without_tokens() -> None:
    access = access_for("0.0.0.0", OIDC)

    assert isinstance(access.issuer, Oidc)
    assert (access.tokens, access.everybody) == (None, None)


@pytest.mark.parametrize(
    ("url", "secure", "name"),
    [
        ("https://agents.example.com", True, "agents.example.com"),
        ("https://agents.example.com:8443/", True, "agents.example.com"),
        ("http://localhost:8230", False, "localhost"),
        ("http://[fd00::1]:8230", False, "[fd00::1]"),
    ],
)
def test_the_consoles_address_says_how_it_is_called_and_whether_cookies_need_tls(
    listed: dict[str, str], url: str, secure: bool, name: str
) -> None:
    access = access_for("0.0.0.0", {**listed, "SUREFOOT_CONSOLE_URL": url})

    assert access.sessions.secure is secure
    assert access.hosts == LOOPBACK | {"0.0.0.0", name}


def test_a_session_of_one_console_is_good_at_another_with_the_same_secret(listed: dict[str, str]) -> None:
    settings = {**listed, "SUREFOOT_SESSION_SECRET": "x" * 32}
    one, two, other = access_for("::1", settings), access_for("::1", settings), access_for("::1", listed)
    assert one.tokens is not None
    person = tokens.read(Path(listed["SUREFOOT_TOKENS"]))[0].person
    cookie, session = one.sessions.open(person)

    assert two.sessions.read(cookie) == session
    assert other.sessions.read(cookie) is None


def test_a_secret_that_could_be_found_by_trying_is_refused(listed: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="SUREFOOT_SESSION_SECRET has 31 characters"):
        access_for("127.0.0.1", {**listed, "SUREFOOT_SESSION_SECRET": "x" * 31})
