"""Tokens of decision links: what they hold, and that nothing else is believed."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from activities.errors import DefinitionError
from activities.notices.decision_links import AUDIENCE, BadLink, DecisionLink, Links, console_url, lasts_until

SECRET = "s" * 32
OTHER = "o" * 32
NOW = datetime.now(UTC).replace(microsecond=0)
LINK = DecisionLink(
    job="desk-1",
    call="c1-1",
    digest="d1",
    asked_at=NOW - timedelta(hours=1, microseconds=-123),
    by="finance-channel",
    expires_at=NOW + timedelta(hours=1),
    roles=("finance",),
)


def links(*secrets: str) -> Links:
    return Links(secrets or (SECRET,), "https://agents.example.com")


def test_what_a_token_holds_is_read_from_it_again() -> None:
    assert links().read(links().token(LINK)) == LINK


def test_a_link_leads_to_the_console() -> None:
    url = links().make(LINK)

    assert url == f"https://agents.example.com/decide/{links().token(LINK)}"
    assert links().job_url("a b/c") == "https://agents.example.com/jobs/a%20b%2Fc"
    assert links().job_url("a/../b") == "https://agents.example.com/jobs/-?id=a%2F..%2Fb"


def test_an_expired_token_says_so() -> None:
    old = links().token(DecisionLink(**{**vars(LINK), "expires_at": NOW - timedelta(seconds=1)}))

    with pytest.raises(BadLink, match="has expired"):
        links().read(old)


@pytest.mark.parametrize("cut", [0, 1, 40, 80])
def test_a_token_that_was_cut_or_altered_is_not_believed(cut: int) -> None:
    token = links().token(LINK)
    altered = token[:cut] + ("A" if token[cut] != "A" else "B") + token[cut + 1 :]

    for wrong in (altered, token[: cut * 2], "", "..", "x" * 10_000):
        with pytest.raises(BadLink, match="no valid link"):
            links().read(wrong)


def test_a_token_without_a_signature_is_not_believed() -> None:
    claims = jwt.decode(links().token(LINK), options={"verify_signature": False})
    unsigned = jwt.encode(claims, "", algorithm="none")

    with pytest.raises(BadLink, match="no valid link"):
        links().read(unsigned)


def test_a_token_that_the_bare_secret_signed_is_not_believed() -> None:
    claims = jwt.decode(links().token(LINK), options={"verify_signature": False})

    with pytest.raises(BadLink, match="no valid link"):
        links().read(jwt.encode(claims, SECRET, algorithm="HS256"))


@pytest.mark.parametrize("missing", ["exp", "aud", "digest", "asked_at", "sub"])
def test_a_token_that_lacks_something_is_not_believed(missing: str) -> None:
    claims = jwt.decode(links().token(LINK), options={"verify_signature": False})
    del claims[missing]
    key = links()._keys[0]

    with pytest.raises(BadLink, match="no valid link"):
        links().read(jwt.encode(claims, key, algorithm="HS256"))


def test_a_token_for_another_purpose_is_not_believed() -> None:
    claims = jwt.decode(links().token(LINK), options={"verify_signature": False})
    key = links()._keys[0]

    assert claims["aud"] == AUDIENCE
    with pytest.raises(BadLink, match="no valid link"):
        links().read(jwt.encode({**claims, "aud": "login"}, key, algorithm="HS256"))


def test_secrets_change_without_breaking_links_that_are_out() -> None:
    before, during, after = links(SECRET), links(OTHER, SECRET), links(OTHER)
    token = before.token(LINK)

    assert during.read(token) == LINK
    assert after.read(during.token(LINK)) == LINK
    with pytest.raises(BadLink):
        after.read(token)


@pytest.mark.parametrize(
    ("environment", "usable", "page"),
    [
        ({}, False, None),
        ({"SUREFOOT_CONSOLE_URL": "https://a.example/"}, False, "https://a.example/jobs/j"),
        ({"SUREFOOT_LINK_SECRET": SECRET}, False, None),
        (
            {"SUREFOOT_LINK_SECRET": SECRET, "SUREFOOT_CONSOLE_URL": "https://a.example"},
            True,
            "https://a.example/jobs/j",
        ),
    ],
)
def test_links_take_a_secret_and_a_console(environment: dict[str, str], usable: bool, page: str | None) -> None:
    found = Links.from_environment(environment)

    assert (found.usable, found.job_url("j")) == (usable, page)
    assert (found.make(LINK) is not None) is usable


def test_without_a_secret_no_token_is_read() -> None:
    with pytest.raises(BadLink, match="SUREFOOT_LINK_SECRET is not set"):
        Links((), "https://a.example").read(links().token(LINK))


def test_a_secret_that_could_be_guessed_is_refused_without_being_shown() -> None:
    with pytest.raises(DefinitionError) as refused:
        Links.from_environment({"SUREFOOT_LINK_SECRET": f"{SECRET} hunter2"})

    assert "secret 2 has 7 characters" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["agents.example.com", "ftp://a.example", "https://", "https://a.example/?x=1"])
def test_a_console_that_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(DefinitionError, match="SUREFOOT_CONSOLE_URL"):
        console_url({"SUREFOOT_CONSOLE_URL": wrong})


@pytest.mark.parametrize(
    ("call_expires", "ends"),
    [(None, timedelta(hours=24)), (timedelta(hours=2), timedelta(hours=2)), (timedelta(days=9), timedelta(hours=24))],
)
def test_a_link_lasts_a_day_and_never_longer_than_its_call(call_expires: timedelta | None, ends: timedelta) -> None:
    assert lasts_until(NOW, NOW + call_expires if call_expires else None) == NOW + ends
