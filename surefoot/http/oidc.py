"""Tokens of an OpenID Connect issuer: checked here, with keys that the issuer publishes and PyJWT fetches and keeps.

Fetching blocks, so it is done in a thread, and only for a token that says it is this issuer's: anybody can send others.
"""

import asyncio
import json
import logging
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt

from surefoot.http.access import Vouched
from surefoot.http.people import Person
from surefoot.http.problems import Refusal
from surefoot.settings import SettingsError

log = logging.getLogger(__name__)

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by keys that the issuer alone has. Never those that who checks could also make (HS256), nor none."""

FETCH_SECONDS = 5.0
CHECK_SECONDS = 12.0
LEEWAY_SECONDS = 30
KEYS_LAST_SECONDS = 600
DOCUMENT_BYTES = 1_000_000


@dataclass(frozen=True)
class Terms:
    """What a token must say. `name` and `roles` are claims; a dot goes into an object (`realm_access.roles`)."""

    issuer: str
    audience: str
    name: str = "sub"
    roles: str = "roles"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Terms | None":
        """By the environment; None without an issuer. Raises `SettingsError`."""
        issuer = environment.get("SUREFOOT_OIDC_ISSUER", "")
        audience = environment.get("SUREFOOT_OIDC_AUDIENCE", "")
        if not issuer:
            return None
        if not audience:
            raise SettingsError(
                f"SUREFOOT_OIDC_ISSUER is {issuer!r} without SUREFOOT_OIDC_AUDIENCE: tokens that it issued for other"
                " services would be good here. Set it to what the issuer calls this one"
            )
        _must_be_safe(issuer, "SUREFOOT_OIDC_ISSUER")
        return cls(
            issuer,
            audience,
            name=environment.get("SUREFOOT_OIDC_NAME") or "sub",
            roles=environment.get("SUREFOOT_OIDC_ROLES") or "roles",
        )


class Oidc:
    """People by the tokens of one issuer."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._keys: jwt.PyJWKClient | None = None
        self._finding = asyncio.Lock()

    async def check(self, token: str) -> Vouched | None:
        """Whose token this is; None if it is not valid. Raises `Refusal` if the issuer can't be asked for its keys."""
        if not self._is_for_us(token):
            return None
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                keys = await self._client()
                key = await asyncio.to_thread(keys.get_signing_key_from_jwt, token)
        except (jwt.PyJWKClientConnectionError, OSError, TimeoutError, SettingsError) as error:
            log.error("keys of the issuer %s can't be fetched: %s", self._terms.issuer, error)
            raise Refusal(
                503, "issuer-not-reached", "the issuer of this token can't be asked for its keys", {"Retry-After": "5"}
            ) from error
        except jwt.PyJWTError:
            return None
        return self._read(token, key)

    def _is_for_us(self, token: str) -> bool:
        """Worth asking for keys; nothing of it is believed yet."""
        try:
            header = jwt.get_unverified_header(token)
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.InvalidTokenError:
            return False
        return header.get("alg") in ALGORITHMS and claims.get("iss") == self._terms.issuer

    def _read(self, token: str, key: jwt.PyJWK) -> Vouched | None:
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._terms.audience,
                issuer=self._terms.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.InvalidTokenError:
            return None
        name = _claim(claims, self._terms.name)
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= 200:
            log.error("a token of %s has no usable claim %r, which SUREFOOT_OIDC_NAME says", *self._about())
            return None
        # Where nobody verified it, anybody may have written somebody else's; some issuers write the word as a text.
        if self._terms.name == "email" and claims.get("email_verified") not in (True, "true"):
            log.error(
                "a token of %s does not say that its email is verified, and that is the name here", self._terms.issuer
            )
            return None
        return Vouched(Person(name, _roles(_claim(claims, self._terms.roles))), float(claims["exp"]))

    def _about(self) -> tuple[str, str]:
        return self._terms.issuer, self._terms.name

    async def _client(self) -> jwt.PyJWKClient:
        async with self._finding:
            if self._keys is None:
                address = await asyncio.to_thread(_discover, self._terms.issuer)
                self._keys = jwt.PyJWKClient(address, timeout=FETCH_SECONDS, lifespan=KEYS_LAST_SECONDS)
        return self._keys


def _discover(issuer: str) -> str:
    """Where the issuer's keys are (OpenID Connect Discovery 1.0, section 4). Raises `SettingsError`, `OSError`."""
    place = issuer.rstrip("/") + "/.well-known/openid-configuration"
    with urllib.request.urlopen(place, timeout=FETCH_SECONDS) as answer:
        _must_be_safe(answer.geturl(), f"where {place} leads to")
        text = answer.read(DOCUMENT_BYTES)
    try:
        found: Any = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"what {place} answers is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("issuer") != issuer or not isinstance(found.get("jwks_uri"), str):
        raise SettingsError(f"what {place} answers is not about the issuer {issuer!r}, with its jwks_uri")
    _must_be_safe(found["jwks_uri"], f"the jwks_uri of {issuer}")
    return str(found["jwks_uri"])


def _must_be_safe(url: str, what: str) -> None:
    """Whoever can change the keys on their way can be anybody here."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return
    raise SettingsError(f"{what} is {url!r}: it must begin with https:// (http:// for this machine alone)")


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by its path: names may have dots in them, too."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _roles(claim: Any) -> frozenset[str]:
    """Roles as issuers write them: a list, or words in one text."""
    words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return frozenset(word for word in words if isinstance(word, str) and word)
