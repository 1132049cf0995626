"""One-time links to a decision: a signed token that lets whoever holds it approve or deny one call, until it expires.

A token is a key: it stands in no log, no error text and no history, and it is made anew for each delivery. "One-time"
is the gate's doing, not the token's: a call is decided once, and a link is for one question (`asked_at`) on one call.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import jwt
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ValidationError

from activities.errors import DefinitionError
from workflows.contracts import Choice

SECRET = "SUREFOOT_LINK_SECRET"
CONSOLE = "SUREFOOT_CONSOLE_URL"
AUDIENCE = "decision"
ALGORITHM = "HS256"
LIFETIME = timedelta(hours=24)
SECRET_CHARS = 32
"""Fewest characters of a secret: who holds a link can try secrets against it, as fast as a machine can."""

MAKE_ONE = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


class BadLink(Exception):
    """A token that lets nobody decide; the text is for the person who followed the link."""


@dataclass(frozen=True)
class DecisionLink:
    """What a token says: which question it answers, in whose name and with which roles, how, and until when."""

    job: str
    call: str
    digest: str
    asked_at: datetime
    by: str
    expires_at: datetime
    roles: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ("approve", "deny")


class _Claims(BaseModel):
    job: str
    call: str
    digest: str
    asked_at: datetime
    sub: str
    exp: int
    roles: tuple[str, ...]
    choices: tuple[Choice, ...]


class Links:
    """Makes and reads tokens. The first of `secrets` signs, all of them are believed."""

    def __init__(self, secrets: Sequence[str], console: str | None) -> None:
        self._keys = [_key(secret) for secret in secrets]
        self._console = console

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Links":
        """By `SUREFOOT_LINK_SECRET` and `SUREFOOT_CONSOLE_URL`. Raises `DefinitionError` for unusable values."""
        secrets = environment.get(SECRET, "").split()
        for position, secret in enumerate(secrets, start=1):
            if len(secret) < SECRET_CHARS:
                raise DefinitionError(
                    f"{SECRET}: secret {position} has {len(secret)} characters, and whoever gets a link could find it"
                    f" by trying; at least {SECRET_CHARS} are needed, {MAKE_ONE}"
                )
        return cls(secrets, console_url(environment))

    @property
    def usable(self) -> bool:
        """Whether links can be made here: it takes a secret, and to know where the console is."""
        return bool(self._keys and self._console)

    def job_url(self, job: str) -> str | None:
        """The job's page in the console, for those who may log in there."""
        if self._console is None:
            return None
        plain = all(part not in ("", ".", "..") for part in job.split("/"))  # browsers resolve the others away
        return (
            f"{self._console}/jobs/{quote(job, safe='')}"
            if plain
            else f"{self._console}/jobs/-?id={quote(job, safe='')}"
        )

    def make(self, link: DecisionLink) -> str | None:
        """Where the holder of this link decides, or None where no links can be made."""
        return f"{self._console}/decide/{self.token(link)}" if self.usable else None

    def token(self, link: DecisionLink) -> str:
        claims: dict[str, Any] = {
            "aud": AUDIENCE,
            "job": link.job,
            "call": link.call,
            "digest": link.digest,
            "asked_at": link.asked_at.isoformat(),
            "sub": link.by,
            "exp": int(link.expires_at.timestamp()),
            "roles": link.roles,
            "choices": link.choices,
        }
        return jwt.encode(claims, self._keys[0], algorithm=ALGORITHM)

    def read(self, token: str) -> DecisionLink:
        """What a token says. Raises `BadLink` for one that is not ours, was altered, or has expired."""
        if not self._keys:
            raise BadLink(f"Links can't be used here: {SECRET} is not set where this page is served.")
        for key in self._keys:
            try:
                found = jwt.decode(
                    token, key, algorithms=[ALGORITHM], audience=AUDIENCE, options={"require": ["exp", "aud"]}
                )
                claims = _Claims.model_validate(found)
            except jwt.ExpiredSignatureError:
                raise BadLink("This link has expired. Decide in the console, or wait for the next reminder.") from None
            except (jwt.InvalidTokenError, ValidationError):
                continue
            return DecisionLink(
                job=claims.job,
                call=claims.call,
                digest=claims.digest,
                asked_at=claims.asked_at,
                by=claims.sub,
                expires_at=datetime.fromtimestamp(claims.exp, UTC),
                roles=claims.roles,
                choices=claims.choices,
            )
        raise BadLink("This is no valid link: it was cut or altered, or the secret that made it is out of use.")


def lasts_until(now: datetime, call_expires_at: datetime | None) -> datetime:
    """When a link that is made now ends: after a day, or with its call."""
    ends = now + LIFETIME
    return min(ends, call_expires_at) if call_expires_at is not None else ends


def console_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """Where people reach the console, without a slash at the end. Raises `DefinitionError`."""
    url = environment.get(CONSOLE, "").strip().rstrip("/")
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise DefinitionError(f"{CONSOLE}={url!r} is no address of a page: write it like https://agents.example.com")
    return quote(url, safe="/:@[]%-._~")


def _key(secret: str) -> bytes:
    """A key for this purpose alone, whatever else the secret may be used for."""
    return HKDF(SHA256(), length=32, salt=None, info=b"surefoot decision link").derive(secret.encode())
