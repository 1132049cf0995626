"""Tokens of an OIDC issuer: whose they are, and every way in which they are not good."""

import asyncio
import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from surefoot.client import Client
from surefoot.http import oidc
from surefoot.http.access import Access
from surefoot.http.oidc import Oidc, Terms
from surefoot.http.people import Person
from surefoot.http.problems import Refusal
from surefoot.http.sessions import Sessions
from surefoot.settings import SettingsError
from tests.http.conftest import asking, bearer

AUDIENCE = "surefoot"
ME = "/api/v1/session"


class Issuer:
    """An issuer on this machine, with a key of its own."""

    def __init__(self) -> None:
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {}
        self.leads: dict[str, str] = {}
        self.delay = 0.0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                time.sleep(issuer.delay)
                body = json.dumps(issuer.answers.get(self.path)).encode()
                self.send_response(302 if self.path in issuer.leads else 200 if self.path in issuer.answers else 404)
                if self.path in issuer.leads:
                    self.send_header("Location", issuer.leads[self.path])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"
        self.answers["/realm/.well-known/openid-configuration"] = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.add("k1")

    def add(self, kid: str) -> None:
        self.keys[kid] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.answers["/realm/keys"] = {
            "keys": [
                {**json.loads(RSAAlgorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig", "alg": "RS256"}
                for kid, key in self.keys.items()
            ]
        }

    def token(self, kid: str = "k1", algorithm: str = "RS256", key: Any = None, **claims: Any) -> str:
        now = int(time.time())
        said = {"iss": self.url, "aud": AUDIENCE, "sub": "u-1", "exp": now + 300, "roles": ["approve", "finance"]}
        said |= claims
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, key or self.keys[kid], algorithm=algorithm, headers={"kid": kid})


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


def terms(issuer: Issuer, **more: str) -> Terms:
    return Terms(issuer.url, AUDIENCE, **more)


async def test_a_token_of_the_issuer_says_who_somebody_is(nobody: Client, issuer: Issuer) -> None:
    access = Access(Sessions(secure=False), issuer=Oidc(terms(issuer)))
    async with asking(nobody, access) as asked:
        answer = await asked.get(ME, headers=bearer(issuer.token()))

    assert answer.json() == {
        "name": "u-1",
        "roles": ["approve", "finance"],
        "permissions": ["view", "approve"],
        "csrf": "",
    }


async def test_the_issuers_keys_are_fetched_once_and_again_for_a_key_that_is_new(issuer: Issuer) -> None:
    checking = Oidc(terms(issuer))
    issuer.asked.clear()
    for _ in range(3):
        assert await checking.check(issuer.token()) is not None
    fetched = list(issuer.asked)
    unknown = [await checking.check(issuer.token().replace(".", "x.", 1)) for _ in range(5)]

    assert fetched == ["/realm/.well-known/openid-configuration", "/realm/keys"]
    assert unknown == [None] * 5
    assert len(issuer.asked) <= 3


OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 4_000_000_000},
        {"iss": "https://another.example"},
        {"iss": None},
        {"aud": "another service"},
        {"aud": None},
        {"aud": []},
        {"sub": None},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "x" * 201},
        {"key": OTHER},
        {"key": "a secret that is as long as it should be", "algorithm": "HS256"},
        {"key": ec.generate_private_key(ec.SECP256R1()), "algorithm": "ES256"},
    ],
)
async def test_a_token_that_is_not_good_is_nobodys(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert await Oidc(terms(issuer)).check(issuer.token(**claims)) is None


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256"])
async def test_a_token_cannot_choose_to_be_checked_by_nothing(issuer: Issuer, algorithm: str) -> None:
    _, claims, _ = issuer.token().split(".")
    header = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "kid": "k1"}).encode()).decode().rstrip("=")

    assert await Oidc(terms(issuer)).check(f"{header}.{claims}.") is None


async def test_a_token_signed_with_the_public_key_as_a_secret_is_nobodys(issuer: Issuer) -> None:
    public = issuer.keys["k1"].public_key()
    secret = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "k1"}).encode()).decode().rstrip("=")
    text = f"{header}.{issuer.token().split('.')[1]}"
    signature = base64.urlsafe_b64encode(hmac.digest(secret, text.encode(), "sha256")).decode().rstrip("=")

    assert await Oidc(terms(issuer)).check(f"{text}.{signature}") is None


@pytest.mark.parametrize(
    ("names", "claims", "person"),
    [
        ({"roles": "realm_access.roles"}, {"realm_access": {"roles": ["view"]}}, Person("u-1", frozenset({"view"}))),
        (
            {"roles": "https://x.y/roles"},
            {"https://x.y/roles": "view submit"},
            Person("u-1", frozenset({"view", "submit"})),
        ),
        ({"roles": "roles"}, {"roles": None}, Person("u-1", frozenset())),
        ({"roles": "roles"}, {"roles": {"admin": True}}, Person("u-1", frozenset())),
        ({"roles": "roles"}, {"roles": ["view", 1, ["admin"]]}, Person("u-1", frozenset({"view"}))),
        ({"name": "email"}, {"email": "a@b.example", "email_verified": True, "roles": []}, Person("a@b.example")),
        ({"name": "email"}, {"email": "a@b.example", "email_verified": False}, None),
        ({"name": "email"}, {"email": "a@b.example", "email_verified": "true", "roles": []}, Person("a@b.example")),
        ({"name": "email"}, {"email": "a@b.example", "email_verified": "false"}, None),
        ({"name": "email"}, {"email": "a@b.example"}, None),
        ({"name": "email"}, {}, None),
    ],
)
async def test_names_and_roles_are_where_the_settings_say(
    issuer: Issuer, names: dict[str, str], claims: dict[str, Any], person: Person | None
) -> None:
    found = await Oidc(terms(issuer, **names)).check(issuer.token(**claims))

    assert (found and found.person) == person


async def test_a_session_opened_with_a_token_ends_with_it(nobody: Client, issuer: Issuer) -> None:
    now = [time.time()]
    sessions = Sessions(secure=False, clock=lambda: now[0])
    async with asking(nobody, Access(sessions, issuer=Oidc(terms(issuer)))) as asked:
        opened = await asked.post(ME, json={"token": issuer.token(exp=int(now[0]) + 60)})
        during = await asked.get(ME)
        now[0] += 61
        after = await asked.get(ME)

    assert (opened.status_code, during.json()["name"], after.status_code) == (200, "u-1", 401)


async def test_an_issuer_that_does_not_answer_is_said_and_asked_again(
    nobody: Client, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "FETCH_SECONDS", 0.3)
    access = Access(Sessions(secure=False), issuer=Oidc(terms(issuer)))
    async with asking(nobody, access) as asked:
        issuer.delay = 1.0
        try:
            silent = await asyncio.wait_for(asked.get(ME, headers=bearer(issuer.token())), 10)
        finally:
            issuer.delay = 0.0
        again = await asked.get(ME, headers=bearer(issuer.token()))

    assert (silent.status_code, silent.headers["retry-after"]) == (503, "5")
    assert silent.json()["type"] == "urn:surefoot:problem:issuer-not-reached"
    assert again.status_code == 200


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"issuer": "https://another.example", "jwks_uri": "https://another.example/keys"},
        {"issuer": "{url}"},
        {"issuer": "{url}", "jwks_uri": "http://keys.example/keys"},
        {"issuer": "{url}", "jwks_uri": "file:///etc/passwd"},
    ],
)
async def test_an_issuer_that_says_it_is_another_is_not_believed(issuer: Issuer, document: Any) -> None:
    place = "/realm/.well-known/openid-configuration"
    good = issuer.answers[place]
    issuer.answers[place] = json.loads(json.dumps(document).replace("{url}", issuer.url))
    try:
        with pytest.raises(Refusal) as raised:
            await Oidc(terms(issuer)).check(issuer.token())
    finally:
        issuer.answers[place] = good

    assert raised.value.problem.status == 503


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"SUREFOOT_OIDC_ISSUER": "https://id.example"}, "without SUREFOOT_OIDC_AUDIENCE"),
        ({"SUREFOOT_OIDC_ISSUER": "http://id.example", "SUREFOOT_OIDC_AUDIENCE": "a"}, "must begin with https://"),
        ({"SUREFOOT_OIDC_ISSUER": "id.example", "SUREFOOT_OIDC_AUDIENCE": "a"}, "must begin with https://"),
    ],
)
async def test_settings_that_would_let_others_in_are_refused(settings: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Terms.from_environment(settings)


async def test_an_elliptic_key_will_do(issuer: Issuer) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    good = issuer.answers["/realm/keys"]
    issuer.answers["/realm/keys"] = {"keys": [{**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": "e1"}]}
    try:
        found = await Oidc(terms(issuer)).check(issuer.token("e1", "ES256", key))
    finally:
        issuer.answers["/realm/keys"] = good

    assert found is not None
    assert found.person.name == "u-1"


async def test_keys_are_not_fetched_from_where_a_redirect_leads(issuer: Issuer) -> None:
    checking = Oidc(terms(issuer))
    keys = issuer.answers.pop("/realm/keys")
    issuer.leads["/realm/keys"] = f"{issuer.url}/elsewhere"
    issuer.answers["/realm/elsewhere"] = keys
    try:
        with pytest.raises(Refusal) as raised:
            await checking.check(issuer.token())
    finally:
        issuer.leads.clear()
        issuer.answers["/realm/keys"] = issuer.answers.pop("/realm/elsewhere")

    assert raised.value.problem.status == 503
    assert "/realm/elsewhere" not in issuer.asked
