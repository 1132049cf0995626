"""Who a request comes from, and who is refused."""

import hashlib
import logging
from pathlib import Path

import pytest
from httpx2 import AsyncClient, Response

from surefoot.client import Client
from surefoot.http import tokens
from surefoot.http.access import Access
from surefoot.http.people import Person
from surefoot.http.rates import Failures
from surefoot.http.sessions import ENDED_EACH, Sessions
from surefoot.http.tokens import TokenFile
from surefoot.settings import SettingsError
from tests.http.conftest import HERE, asking, bearer, known

ME = "/api/v1/session"
PAUSE = "/api/v1/jobs/j-1/pause"


def problem(answer: Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].removeprefix("urn:surefoot:problem:")


async def signed_in(asked: AsyncClient, token: str) -> str:
    """Opens a session; its CSRF token."""
    answer = await asked.post(ME, json={"token": token})
    assert answer.status_code == 200, answer.text
    csrf: str = answer.json()["csrf"]
    return csrf


async def test_a_health_check_needs_no_token(nobody: Client, tmp_path: Path) -> None:
    access, _ = known(tmp_path, ana=["view"])
    async with asking(nobody, access) as asked:
        answer = await asked.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_bearer_token_says_who_somebody_is(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["approve", "finance"], bob=["view"])
    async with asking(nobody, access) as asked:
        ana = await asked.get(ME, headers=bearer(token["ana"]))
        bob = await asked.get(ME, headers={"Authorization": f"bearer {token['bob']}"})

    assert ana.json() == {
        "name": "ana",
        "roles": ["approve", "finance"],
        "permissions": ["view", "approve"],
        "csrf": "",
    }
    assert (bob.json()["name"], bob.json()["permissions"]) == ("bob", ["view"])


@pytest.mark.parametrize(
    "headers",
    [{}, bearer(""), bearer("sf_nobody"), bearer("a.b.c"), {"Authorization": "Basic YTpi"}, {"Cookie": "surefoot=x"}],
)
async def test_who_is_not_known_is_asked_who_he_is(nobody: Client, tmp_path: Path, headers: dict[str, str]) -> None:
    access, _ = known(tmp_path, ana=["admin"])
    async with asking(nobody, access) as asked:
        answer = await asked.get(ME, headers=headers)

    assert problem(answer) == (401, "not-signed-in")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_wrong_token_is_not_made_good_by_a_session(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["admin"])
    async with asking(nobody, access) as asked:
        await signed_in(asked, token["ana"])
        answer = await asked.get(ME, headers=bearer("sf_wrong"))

    assert problem(answer) == (401, "not-signed-in")


async def test_the_token_file_holds_no_token(tmp_path: Path) -> None:
    token = tokens.fresh()
    text = tokens.line('Ana "A" Ö', ["approve"], token)
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")
    found = TokenFile(tmp_path / "t.toml").find(token)

    assert token not in text
    assert len(token) > 40
    assert found is not None
    assert (found.person.name, found.person.roles) == ('Ana "A" Ö', frozenset({"approve"}))


async def test_a_token_file_may_be_json(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"sf_1").hexdigest()
    (tmp_path / "t.json").write_text(f'{{"token": [{{"name": "ci", "roles": ["submit"], "sha256": "{digest}"}}]}}')
    file = TokenFile(tmp_path / "t.json")

    found = file.find("sf_1")
    assert found is not None
    assert found.person.name == "ci"
    assert file.find("sf_2") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[token]]\nname = 'a'\nroles = []\nsha256 = 'sf_secret'\n", "token.0.sha256"),
        ("[[token]]\nname = 'a'\nroles = []\ntoken = 'sf_secret'\n", "token.0.token"),
        ("[[token]\n", "not valid"),
        ("", "token: Field required"),
        (f"[[token]]\nname = 'a'\nroles = []\nsha256 = '{hashlib.sha256(b'').hexdigest()}'\n", "the digest of nothing"),
        (tokens.line("a", [], "sf_secret") + tokens.line("b", [], "sf_secret"), "'a' and 'b' have the same token"),
    ],
)
async def test_a_token_file_that_is_not_valid_is_refused_without_its_contents(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "t.toml").write_text(text)
    with pytest.raises(SettingsError, match=says) as raised:
        TokenFile(tmp_path / "t.toml")

    assert "sf_secret" not in str(raised.value)


async def test_a_line_taken_out_of_the_file_shuts_its_owner_out_at_once(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["admin"])
    async with asking(nobody, access) as browser, asking(nobody, access) as program:
        await signed_in(browser, token["ana"])
        before = [await browser.get(ME), await program.get(ME, headers=bearer(token["ana"]))]
        (tmp_path / "tokens.toml").write_text(tokens.line("bob", ["view"], tokens.fresh()) + "# and nobody else\n")
        after = [await browser.get(ME), await program.get(ME, headers=bearer(token["ana"]))]

    assert [answer.status_code for answer in before + after] == [200, 200, 401, 401]


async def test_a_broken_token_file_shuts_nobody_out(
    nobody: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access, token = known(tmp_path, ana=["admin"])
    (tmp_path / "tokens.toml").write_text("[[token]\n")
    async with asking(nobody, access) as asked:
        answers = [await asked.get(ME, headers=bearer(token["ana"])) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert len([record for record in caplog.records if "not valid" in record.getMessage()]) == 1


def test_a_token_file_that_everybody_can_write_to_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(tokens.line("ana", ["admin"], tokens.fresh()))
    file.chmod(0o644)
    TokenFile(file)
    before = caplog.text
    file.chmod(0o666)
    TokenFile(file)

    assert before == ""
    assert f"everybody on this machine can write to the token file {str(file)!r}" in caplog.text


async def test_a_session_has_a_cookie_that_no_script_and_no_other_site_gets(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["view"])
    access.sessions = Sessions(secure=True)
    async with asking(nobody, access) as asked:
        cookie = (await asked.post(ME, json={"token": token["ana"]})).headers["set-cookie"]

    assert cookie.startswith("__Host-surefoot=")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Secure", "Max-Age=43200"} <= set(cookie.split("; "))
    assert token["ana"] not in cookie


async def test_a_session_ends_when_it_is_over_or_was_ended(nobody: Client, tmp_path: Path) -> None:
    now = [1_000_000.0]
    access, token = known(tmp_path, ana=["view"])
    access.sessions = Sessions(secure=False, clock=lambda: now[0])
    async with asking(nobody, access) as asked, asking(nobody, access) as thief:
        csrf = await signed_in(asked, token["ana"])
        thief.cookies.update(asked.cookies)
        left = await asked.delete(ME, headers={"X-CSRF-Token": csrf})
        after_leaving = await thief.get(ME)
        await signed_in(asked, token["ana"])
        now[0] += 12 * 3600 - 1
        in_time = await asked.get(ME)
        now[0] += 2
        too_late = await asked.get(ME)

    assert (left.status_code, after_leaving.status_code) == (204, 401)
    assert (in_time.status_code, too_late.status_code) == (200, 401)


async def test_a_cookie_that_was_not_signed_here_is_nobodys(nobody: Client, tmp_path: Path) -> None:
    access, _ = known(tmp_path, ana=["admin"])
    foreign, _ = Sessions(b"another secret of thirty-two chars", secure=False).open(Person("ana", frozenset({"admin"})))
    async with asking(nobody, access, cookies={"surefoot": foreign}) as asked:
        answer = await asked.get(ME)

    assert problem(answer) == (401, "not-signed-in")


@pytest.mark.parametrize("header", [None, "", "x", "é"])
async def test_a_session_changes_nothing_without_its_csrf_token(
    nobody: Client, tmp_path: Path, header: str | None
) -> None:
    access, token = known(tmp_path, ana=["admin"])
    async with asking(nobody, access) as asked:
        await signed_in(asked, token["ana"])
        headers = {} if header is None else {b"X-CSRF-Token": header.encode("latin-1")}
        answer = await asked.post(PAUSE, headers=headers)

    assert problem(answer) == (403, "no-csrf-token")


async def test_the_csrf_token_of_another_session_does_not_do(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["admin"], bob=["admin"])
    async with asking(nobody, access) as ana, asking(nobody, access) as bob:
        await signed_in(ana, token["ana"])
        csrf = await signed_in(bob, token["bob"])
        answer = await ana.delete(ME, headers={"X-CSRF-Token": csrf})
        own = (await ana.get(ME)).json()["csrf"]
        with_own = await ana.delete(ME, headers={"X-CSRF-Token": own})

    assert problem(answer) == (403, "no-csrf-token")
    assert with_own.status_code == 204


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8230.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("way", ["open", "session", "signing in"])
async def test_another_sites_page_can_do_nothing(
    nobody: Client, tmp_path: Path, headers: dict[str, str], way: str
) -> None:
    access, token = known(tmp_path, ana=["admin"])
    async with asking(nobody, Access.open("me", []) if way == "open" else access) as asked:
        if way == "signing in":
            answer = await asked.post(ME, json={"token": token["ana"]}, headers=headers)
        else:
            csrf = await signed_in(asked, token["ana"]) if way == "session" else ""
            answer = await asked.post(PAUSE, headers={**headers, "X-CSRF-Token": csrf})

    assert problem(answer) == (403, "foreign-page")


async def test_another_sites_page_reads_nothing_but_may_lead_here(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        read = await asked.get(ME, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty"})
        led = await asked.get(ME, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"})
        own = await asked.get(ME, headers={"Sec-Fetch-Site": "same-origin", "Origin": HERE})

    assert problem(read) == (403, "foreign-page")
    assert (led.status_code, own.status_code) == (200, 200)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8230", "127.0.0.1.evil.example", "", "127.0.0.1@evil"])
async def test_a_foreign_name_that_means_this_machine_reaches_nothing(nobody: Client, host: str) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.get(ME, headers={"Host": host})

    assert problem(answer) == (421, "unknown-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8230", "[::1]:8230"])
async def test_this_machine_is_reached_by_its_own_names(nobody: Client, host: str) -> None:
    async with asking(nobody, Access.open("me", ["finance"])) as asked:
        answer = await asked.get(ME, headers={"Host": host})

    assert answer.json()["permissions"] == ["view", "submit", "approve", "admin"]
    assert (answer.json()["name"], "finance" in answer.json()["roles"]) == ("me", True)


async def test_who_tries_tokens_is_held_up_and_others_are_not(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["view"])
    access.failures = Failures(tries=3, per_minute=1, clock=lambda: 0.0)
    async with asking(nobody, access) as guesser, asking(nobody, access, address="203.0.113.6") as other:
        tries = [(await guesser.post(ME, json={"token": f"sf_{n}"})).status_code for n in range(4)]
        right_too_late = await guesser.post(ME, json={"token": token["ana"]})
        bearer_fails = await guesser.get(ME, headers=bearer("sf_5"))
        bearer_right = await guesser.get(ME, headers=bearer(token["ana"]))
        others = await other.post(ME, json={"token": token["ana"]})

    assert tries == [401, 401, 401, 429]
    assert problem(right_too_late) == (429, "too-many-failures")
    assert right_too_late.headers["retry-after"] == "61"
    assert bearer_fails.status_code == 429
    assert (bearer_right.status_code, others.status_code) == (200, 200)


async def test_all_of_a_customers_addresses_are_one() -> None:
    failures = Failures(tries=1, per_minute=1, clock=lambda: 0.0)
    failures.count("2001:db8:0:1::1")

    assert failures.wait("2001:db8:0:1:ffff::2") == 60.0
    assert failures.wait("2001:db8:0:2::1") == 0.0


async def test_addresses_of_ipv4_are_told_apart_however_they_are_written() -> None:
    failures = Failures(tries=1, per_minute=1, clock=lambda: 0.0)
    failures.count("::ffff:203.0.113.5")

    assert (failures.wait("::ffff:203.0.113.5"), failures.wait("203.0.113.5")) == (60.0, 60.0)
    assert failures.wait("::ffff:203.0.113.6") == 0.0


async def test_a_session_that_an_issuer_vouched_for_ends_when_that_is_not_believed_any_more(nobody: Client) -> None:
    sessions = Sessions(b"s" * 32, secure=False)
    cookie, _ = sessions.open(Person("u-1", frozenset({"admin"})))
    async with asking(nobody, Access(sessions), cookies={"surefoot": cookie}) as asked:
        answer = await asked.get(ME)

    assert problem(answer) == (401, "not-signed-in")


def test_whoever_ends_sessions_without_end_fills_no_memory_and_revives_none() -> None:
    now = [1_000_000.0]
    sessions = Sessions(secure=False, clock=lambda: now[0])
    ana = Person("ana", frozenset({"view"}))
    of_bob, _ = sessions.open(Person("bob"))
    cookies: list[str] = []
    for _ in range(2 * ENDED_EACH + 2):
        cookie, session = sessions.open(ana)
        cookies.append(cookie)
        sessions.end(session)
        now[0] += 1
    after, _ = sessions.open(ana)

    assert [cookie for cookie in cookies if sessions.read(cookie) is not None] == []
    assert len(sessions._ended) <= ENDED_EACH
    assert (sessions.read(after) is None, sessions.read(of_bob) is None) == (False, False)


async def test_no_token_gets_into_the_log(nobody: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    access, token = known(tmp_path, ana=["view"])
    caplog.set_level(logging.DEBUG)
    async with asking(nobody, access) as asked:
        await signed_in(asked, token["ana"])
        await asked.get(f"{ME}?token={token['ana']}", headers=bearer(token["ana"]))
        wrong = await asked.post(ME, json={"token": [token["ana"]]})

    ours = [record for record in caplog.records if not record.name.startswith("httpx2")]
    assert all(token["ana"] not in record.getMessage() for record in ours)
    assert token["ana"] not in wrong.text


async def test_a_form_may_carry_the_csrf_token(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["view"])
    async with asking(nobody, access) as asked:
        csrf = await signed_in(asked, token["ana"])
        with_it = await asked.request("DELETE", ME, data={"csrf_token": csrf})

    assert with_it.status_code == 204


async def test_signing_in_where_nobody_is_asked_gives_the_person_of_this_machine(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.post(ME, json={"token": "anything"})

    assert (answer.status_code, answer.json()["name"], answer.headers.get("set-cookie")) == (200, "me", None)
