"""Sessions of browsers: a signed cookie that says whose it is, and the token that its forms must carry.

A session that was opened with a line of the token file has that line's rights of today, and ends with it. The secret is
this process's own unless SUREFOOT_SESSION_SECRET is set, so a restart ends all sessions.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import jwt
from jwt.types import Options

from surefoot.http.people import Person

SECONDS = 12 * 3600
ENDED_EACH = 100
"""How many ended sessions of one person are known one by one; beyond that all end that the person has."""

ALGORITHM = "HS256"


@dataclass(frozen=True)
class Session:
    """`key` is that of the line in the token file; without one the person is who the cookie says."""

    id: str
    person: Person
    key: str | None
    until: float
    opened: float = 0.0


class Sessions:
    """Opens, reads and ends sessions. `secure` cookies are sent over TLS only."""

    def __init__(self, secret: bytes | None = None, *, secure: bool, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret or secrets.token_bytes(32)
        self.secure = secure
        self._clock = clock
        self._ended: dict[str, Session] = {}
        self._all_ended: dict[str, float] = {}

    @property
    def cookie(self) -> str:
        """The cookie's name. With the prefix browsers take it from no other host and over nothing but TLS."""
        return "__Host-surefoot" if self.secure else "surefoot"

    def open(self, person: Person, *, key: str | None = None, until: float | None = None) -> tuple[str, Session]:
        """A new session, which ends at `until` at the latest, and its cookie."""
        now = self._clock()
        end = int(min(now + SECONDS, until or now + SECONDS))
        session = Session(secrets.token_urlsafe(16), person, key, end, now)
        claims = {
            "jti": session.id,
            "sub": person.name,
            "roles": sorted(person.roles),
            "exp": end,
            "opened": now,
            **({"key": key} if key else {}),
        }
        return jwt.encode(claims, self._secret, algorithm=ALGORITHM), session

    def read(self, cookie: str) -> Session | None:
        """The session of a cookie that was signed here, has not run out and was not ended."""
        options: Options = {"require": ["jti", "sub", "exp"], "verify_exp": False}
        try:
            claims = jwt.decode(cookie, self._secret, algorithms=[ALGORITHM], options=options)
        except jwt.InvalidTokenError:
            return None
        person = Person(claims["sub"], frozenset(claims.get("roles", [])))
        session = Session(claims["jti"], person, claims.get("key"), claims["exp"], claims.get("opened", 0.0))
        return session if session.until > self._clock() and not self._has_ended(session) else None

    def _has_ended(self, session: Session) -> bool:
        return session.id in self._ended or session.opened <= self._all_ended.get(session.person.name, -1.0)

    def end(self, session: Session) -> None:
        """Nobody can use this session any more, also who copied its cookie."""
        now = self._clock()
        self._ended = {id: each for id, each in self._ended.items() if each.until > now} | {session.id: session}
        name = session.person.name
        if sum(each.person.name == name for each in self._ended.values()) > ENDED_EACH:
            self._ended = {id: each for id, each in self._ended.items() if each.person.name != name}
            self._all_ended = {who: at for who, at in self._all_ended.items() if at + SECONDS > now} | {name: now}

    def csrf(self, session: Session) -> str:
        """What each form of this session must carry: no other site's page can know it."""
        return hmac.new(self._secret, b"csrf:" + session.id.encode(), hashlib.sha256).hexdigest()

    def is_csrf(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.csrf(session).encode(), token.encode(errors="replace"))
